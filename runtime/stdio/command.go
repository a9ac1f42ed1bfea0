package stdio

import (
	"os"
	"os/exec"
	"strings"
)

// Command is the program that [Start] runs. No shell has a part in it: what
// Args say reaches the program as it stands.
type Command struct {
	// Path is the program. A name without a slash is looked up in PATH, and
	// never in the current directory.
	Path string
	// Args are its arguments, without the name of the program.
	Args []string
	// Dir is the directory it runs in, empty for ours.
	Dir string
	// Env is added to what the child inherits, each as "NAME=value"; it also
	// replaces what was inherited under the same name.
	Env []string
	// Inherit names more variables to inherit. Without it a child sees only
	// what programs need to find their files: PATH, HOME, USER, the locale
	// and the like, so that no secret of ours leaks into it.
	Inherit []string
}

// build makes the command ready to be given its files.
func (c *Command) build() *exec.Cmd {
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Dir = c.Dir
	cmd.Env = c.environment(os.LookupEnv)
	isolate(cmd)
	return cmd
}

// environment returns all that the child's environment holds. Of two entries
// of the same name the later one counts.
func (c *Command) environment(lookup func(string) (string, bool)) []string {
	env := make([]string, 0, len(inherited)+len(c.Inherit)+len(c.Env))
	for _, name := range inherited {
		// Some shells export functions as values; they are code, not text.
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
