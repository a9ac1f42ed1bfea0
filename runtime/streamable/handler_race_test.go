//go:build race

package streamable_test

func init() { serverUnderRace = true }
