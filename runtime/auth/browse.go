package auth

import (
	"fmt"
	"os/exec"
	"runtime"
)

// Browse shows a page in the user's browser. No shell sees the URL, which must be one of
// HTTP.
func Browse(page string) error {
	if _, err := parseURL(page, true); err != nil {
		return fmt.Errorf("browse: %w", err)
	}
	program := []string{"xdg-open"}
	switch runtime.GOOS {
	case "darwin":
		program = []string{"open"}
	case "windows":
		program = []string{"rundll32", "url.dll,FileProtocolHandler"}
	}
	cmd := exec.Command(program[0], append(program[1:], page)...)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("browse: %w", err)
	}
	go func() { _ = cmd.Wait() }() // ends with the program that was started
	return nil
}
