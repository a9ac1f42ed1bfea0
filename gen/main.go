// Command gen compiles the protocol's schemas into Go.
//
//	go run ./gen                  # schema/ -> generated/mcp
//	go run ./gen -check           # fail where generated/mcp is not what it would print
//	go run ./gen import -from FILE -revision DATE
//
// Other folders are compiled with -schema, -docs and -out.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

//go:generate go run .

func main() {
	err := run(os.Args[1:], os.Stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// run is the command without the process around it.
func run(args []string, stdout io.Writer) error {
	if len(args) > 0 && args[0] == "import" {
		afterImport = hintAfterImport
		return runImport(args[1:], stdout)
	}
	return runCompile(args, stdout)
}

// runCompile compiles a folder of schemas, or checks what an earlier run
// compiled.
func runCompile(args []string, stdout io.Writer) error {
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	var job job
	flags := flag.NewFlagSet("gen", flag.ContinueOnError)
	flags.StringVar(&job.schema, "schema", filepath.Join(root, "schema"), "the folder of schemas and their index")
	flags.StringVar(&job.docs, "docs", filepath.Join(root, "schema", "docs.txt"), "the file of our texts")
	flags.StringVar(&job.out, "out", filepath.Join(root, "generated", "mcp"), "the folder to print into")
	flags.BoolVar(&job.check, "check", false, "write nothing; fail where a file is not what it would be")
	flags.BoolVar(&job.dump, "dump", false, "print the merged model instead of Go")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unknown command %q; want import, or flags", flags.Arg(0))
	}
	return job.run(stdout)
}

// moduleRoot is the folder of the go.mod in or above the working directory.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("there is no go.mod in or above the working directory")
		}
	}
}
