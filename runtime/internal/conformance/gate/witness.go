package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// witnessVerb makes this program start a client and write down how it ended:
// gate witness DIR COMMAND URL. The suite does not tell.
const witnessVerb = "witness"

// exitFile is where the exit status of a scenario's client is kept.
func exitFile(dir, scenario string) string {
	return filepath.Join(dir, "exit-"+strings.ReplaceAll(scenario, "/", "."))
}

func witness(args []string) int {
	if len(args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: gate witness DIR COMMAND URL")
		return 2
	}
	cmd := exec.Command("sh", "-c", args[1]+` "$@"`, "client", args[2])
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	code := 0
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		if code = 1; errors.As(err, &exit) {
			code = exit.ExitCode()
		} else {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	file := exitFile(args[0], os.Getenv("MCP_CONFORMANCE_SCENARIO"))
	if err := os.WriteFile(file, []byte(strconv.Itoa(code)), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}
