// Command ports moves servers from mcp-go and the official SDK to this module and compares them with the
// originals. For each server it fetches a pinned version with git, changes the import paths, applies the scripts in
// the folder edits, builds both, runs the server's own tests, and compares the responses to a list of
// calls member by member. It prints all differences, and fails if there is one that the list in
// servers.go does not explain.
//
// A server whose source cannot be fetched is skipped with a message. The flag -from names a folder
// with git repositories, one for each server, for machines without access to the network; modules are
// downloaded in any case.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
)

func main() {
	from := flag.String("from", "", "fetch from the git repositories in this `folder`, named like the servers")
	only := flag.String("only", "", "run this `server` only")
	tests := flag.Bool("tests", true, "run the tests of the servers")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	failed := false
	for _, s := range servers {
		if *only != "" && s.name != *only {
			continue
		}
		if err := check(ctx, s, *from, *tests); err != nil {
			fmt.Printf("%s: %v\n", s.name, err)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}

// check ports one server in a temporary folder and compares it with the original.
func check(ctx context.Context, s *server, from string, tests bool) error {
	dir, err := os.MkdirTemp("", "ports")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	original, port := filepath.Join(dir, "original"), filepath.Join(dir, "port")
	if err := s.fetch(ctx, from, dir, original, port); err != nil {
		fmt.Printf("%s: skipped, because the source was not fetched: %v\n", s.name, err)
		return nil
	}
	if err := s.port(ctx, port); err != nil {
		return err
	}
	var responses [2][]any
	var binaries []string
	for i, tree := range []string{original, port} {
		binary := filepath.Join(dir, filepath.Base(tree)+".bin")
		binaries = append(binaries, binary)
		if _, err := run(ctx, tree, "go", "build", "-o", binary, s.main); err != nil {
			return err
		}
		if responses[i], err = s.call(ctx, binary); err != nil {
			return err
		}
	}
	unexplained := s.compare(responses[0], responses[1])
	if err := s.timeStarts(ctx, binaries); err != nil {
		return err
	}
	if tests {
		more, err := s.test(ctx, original, port)
		if err != nil {
			return err
		}
		unexplained += more
	}
	if unexplained > 0 {
		return fmt.Errorf("%d differences are not explained", unexplained)
	}
	return nil
}
