//go:build race

package jsonrpc_test

func init() { raceDetector = true }
