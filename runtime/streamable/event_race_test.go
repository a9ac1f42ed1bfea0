//go:build race

package streamable

func init() { raceEnabled = true }
