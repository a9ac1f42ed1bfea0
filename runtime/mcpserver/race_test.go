//go:build race

package mcpserver_test

func init() { raceDetector = true }
