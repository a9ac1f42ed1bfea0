//go:build race

package mcp

func init() { raceDetector = true }
