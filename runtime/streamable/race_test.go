//go:build race

package streamable_test

func init() { raceEnabled = true }
