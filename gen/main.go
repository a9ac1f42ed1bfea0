// Command gen compiles the protocol's schemas into Go.
//
//	go run ./gen                  # schema/ -> generated/mcp
//	go run ./gen -check           # fail if generated/mcp is not up to date
//	go run ./gen import -from FILE -revision DATE
//	go run ./gen history -from FOLDER   # compile the states of a draft
//
// The flags -schema, -docs and -out select other folders.
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

// run runs the command with the given arguments.
func run(args []string, stdout io.Writer) error {
	if len(args) > 0 && args[0] == "import" {
		afterImport = hintAfterImport
		return runImport(args[1:], stdout)
	}
	if len(args) > 0 && args[0] == "extension" {
		return runExtension(args[1:], stdout)
	}
	if len(args) > 0 && args[0] == "history" {
		return runHistory(args[1:], stdout)
	}
	return runCompile(args, stdout)
}

// runCompile compiles a folder of schemas, or checks the generated files.
func runCompile(args []string, stdout io.Writer) error {
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	var job job
	flags := flag.NewFlagSet("gen", flag.ContinueOnError)
	flags.StringVar(&job.schema, "schema", filepath.Join(root, "schema"), "folder with the schemas and their index")
	flags.StringVar(&job.extensions, "extensions", filepath.Join(root, "schema", "extensions"), "folder with the schemas of extensions; empty for none")
	flags.StringVar(&job.docs, "docs", filepath.Join(root, "schema", "docs.txt"), "file with the documentation texts")
	flags.StringVar(&job.out, "out", filepath.Join(root, "generated", "mcp"), "folder of the generated files")
	flags.BoolVar(&job.check, "check", false, "write nothing; fail if a file is not up to date")
	flags.BoolVar(&job.dump, "dump", false, "print the merged model instead of Go")
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), "Usage: gen [flags]\n       gen import|extension|history [flags]\n\nIt compiles the schemas of the protocol, and the schemas of extensions in this repository.\n"+
			"In other modules, gen extension compiles the schema of an extension.\n\n")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unknown command %q; the commands are import, extension and history", flags.Arg(0))
	}
	return job.run(stdout)
}

// moduleRoot returns the folder with the go.mod in or above the working directory.
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
			return "", errors.New("no go.mod in or above the working directory")
		}
	}
}
