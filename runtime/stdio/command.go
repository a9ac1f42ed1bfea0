package stdio

import (
	"cmp"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/mcpwright/mcp/runtime/jsonrpc"
)

// Command is the program that [Start] runs. It runs without a shell: the program
// receives Args unchanged.
type Command struct {
	// Path is the program. A name without a slash is looked up in PATH, but
	// not in the current directory.
	Path string
	// Args are its arguments, without the name of the program.
	Args []string
	// Dir is the working directory of the child. If it is empty, the child
	// runs in the current directory of this process.
	Dir string
	// Env adds variables to the environment of the child, each as
	// "NAME=value". They replace inherited variables of the same name.
	Env []string
	// Inherit names more variables to inherit. A child always inherits the
	// variables that programs need to find their files, such as PATH, HOME,
	// USER and the locale. It inherits no others, so that the secrets of
	// this process do not leak into it.
	Inherit []string
}

// build returns the command without its standard files.
func (c *Command) build() *exec.Cmd {
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Dir = c.Dir
	cmd.Env = c.environment(os.LookupEnv)
	setGroup(cmd)
	return cmd
}

// environment returns the environment of the child. Of two entries with the same
// name, the later one applies.
func (c *Command) environment(lookup func(string) (string, bool)) []string {
	always := alwaysInherited(runtime.GOOS)
	env := make([]string, 0, len(always)+len(c.Inherit)+len(c.Env))
	for _, name := range always {
		// Some shells export functions as variables. They are code, so do
		// not pass them on.
		if v, ok := lookup(name); ok && !strings.HasPrefix(v, "()") {
			env = append(env, name+"="+v)
		}
	}
	for _, name := range c.Inherit {
		if v, ok := lookup(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return append(env, c.Env...)
}

// alwaysInherited returns the names of the variables that every child inherits on
// an operating system.
func alwaysInherited(goos string) []string {
	switch goos {
	case "windows":
		return []string{
			"APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATH", "PATHEXT",
			"PROCESSOR_ARCHITECTURE", "PROGRAMDATA", "PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT",
			"TEMP", "TMP", "USERNAME", "USERPROFILE", "WINDIR",
		}
	case "plan9":
		return []string{"cputype", "home", "objtype", "path", "service", "sysname", "user"}
	}
	return []string{
		"HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER",
	}
}

// StartOptions are the options of a client. The zero value is ready to use.
type StartOptions struct {
	// JSONRPC configures the dispatcher: the handler of the server's
	// messages, limits, timeouts and the revision to write. [Start] sets its
	// Client.
	JSONRPC jsonrpc.Options
	// Ready, if not nil, is called with the child before its output is read.
	Ready func(*Process)
	// Stderr receives what the child writes to its standard error, which is
	// free text and does not indicate a failure. The child never waits for a
	// slow writer. Text that the writer is too slow for is dropped, and a line
	// with the number of dropped bytes replaces it. If Stderr is nil, the
	// text is discarded, except for the last lines, which errors contain.
	Stderr io.Writer
	// Observe, if not nil, is called with the bytes of all messages: before they are
	// written to the child if sent is true, and otherwise after they were read. The
	// bytes of one call need not be one line. It must not wait and must not keep or
	// change b. It may be called concurrently for the two directions.
	Observe func(sent bool, b []byte)
	// Grace is how long a child may take to end after its standard input is
	// closed. The default is 2 s.
	Grace time.Duration
	// KillAfter is how long a child may take to end after it is asked to
	// terminate. Then it is killed. The default is 2 s.
	KillAfter time.Duration
}

const (
	defaultGrace     = 2 * time.Second
	defaultKillAfter = 2 * time.Second
)

func (o *StartOptions) grace() time.Duration     { return positive(o.Grace, defaultGrace) }
func (o *StartOptions) killAfter() time.Duration { return positive(o.KillAfter, defaultKillAfter) }

func (o *StartOptions) logger() *slog.Logger { return cmp.Or(o.JSONRPC.Logger, slog.Default()) }

// positive returns d if it is positive, otherwise byDefault.
func positive(d, byDefault time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return byDefault
}
