//go:build race

package validate

func init() { raceDetector = true }
