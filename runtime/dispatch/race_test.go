//go:build race

package dispatch_test

func init() { raceDetector = true }
