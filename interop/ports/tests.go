package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
)

// test runs the tests of a server before and after its port. It prints the tests that fail
// afterwards, and returns the number of tests that fail only then. Tests that need the network or
// another program may fail in both.
func (s *server) test(ctx context.Context, original, port string) (broken int, err error) {
	before, _, err := s.failedTests(ctx, original)
	if err != nil {
		return 0, err
	}
	after, passed, err := s.failedTests(ctx, port)
	if err != nil {
		return 0, err
	}
	fmt.Printf("  %d tests pass\n", passed)
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if before[name] {
			fmt.Printf("  %s fails, as in the original\n", name)
			continue
		}
		fmt.Printf("  %s fails only in the port: %s\n", name, cmp.Or(s.failing[name], "not explained"))
		if s.failing[name] == "" {
			broken++
		}
	}
	return broken, nil
}

// failedTests returns the tests that fail, without subtests, and the number of tests that pass. A
// package that does not build fails as a whole.
func (s *server) failedTests(ctx context.Context, tree string) (failed map[string]bool, passed int, err error) {
	args := append([]string{"test", "-json", "-count=1"}, s.tests...)
	out, err := run(ctx, tree, "go", args...)
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		return nil, 0, err
	}
	return readTests(out)
}

// readTests reads the output of "go test -json".
func readTests(out []byte) (failed map[string]bool, passed int, err error) {
	failed = map[string]bool{}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, len(out)+1)
	inPackage := map[string]bool{}
	for lines.Scan() {
		var e struct{ Action, Package, Test string }
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, 0, fmt.Errorf("go test wrote %q", lines.Bytes())
		}
		isSubtest := strings.Contains(e.Test, "/")
		switch {
		case e.Action == "pass" && e.Test != "" && !isSubtest:
			passed++
		case e.Action == "fail" && e.Test != "" && !isSubtest:
			failed[e.Test], inPackage[e.Package] = true, true
		case e.Action == "fail" && e.Test == "" && !inPackage[e.Package]:
			failed[e.Package] = true
		}
	}
	return failed, passed, lines.Err()
}
