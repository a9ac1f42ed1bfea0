package hostconfig

import (
	"fmt"
	"maps"
	"strings"
)

// Expand returns the server with the values of its variables: ${NAME}, ${NAME:-default}, ${env:NAME},
// ${workspaceFolder} and ${userHome}. It returns an error if a variable has no value, or if a value
// must be asked for (${input:…}).
func (s Server) Expand(at Place) (Server, error) {
	x := expander{at: at, folder: s.folder}
	s.Command, s.URL, s.Dir = x.text(s.Command), x.text(s.URL), x.text(s.Dir)
	args := make([]string, 0, len(s.Args))
	for _, a := range s.Args {
		args = append(args, x.text(a))
	}
	s.Args = args
	s.Env, s.Headers = x.values(s.Env), x.values(s.Headers)
	if x.err != nil {
		return s, fmt.Errorf("server %q: %w", s.Name, x.err)
	}
	if s.Command == "" && s.URL == "" {
		return s, fmt.Errorf("server %q has neither a command nor a URL", s.Name)
	}
	return s, nil
}

// expander replaces variables, and stores the first error.
type expander struct {
	at     Place
	folder string
	err    error
}

func (x *expander) values(m map[string]string) map[string]string {
	m = maps.Clone(m)
	for key, value := range m {
		m[key] = x.text(value)
	}
	return m
}

func (x *expander) text(s string) string {
	var out strings.Builder
	for {
		before, rest, ok := strings.Cut(s, "${")
		out.WriteString(before)
		if !ok {
			return out.String()
		}
		name, after, ok := strings.Cut(rest, "}")
		if !ok {
			out.WriteString("${" + rest)
			return out.String()
		}
		out.WriteString(x.value(name))
		s = after
	}
}

// value returns the value of a variable.
func (x *expander) value(name string) string {
	switch name {
	case "workspaceFolder":
		return x.folder
	case "userHome":
		return x.at.Home
	}
	if id, ok := strings.CutPrefix(name, "input:"); ok {
		return x.fail(fmt.Errorf("the host asks its user for the value of ${input:%s}; write the value into another file, or give the command after --", id))
	}
	name = strings.TrimPrefix(name, "env:")
	name, preset, hasPreset := strings.Cut(name, ":-")
	if value, ok := x.at.Getenv(name); ok && (value != "" || !hasPreset) {
		return value
	}
	if hasPreset {
		return preset
	}
	return x.fail(fmt.Errorf("the environment variable %q is not set", name))
}

func (x *expander) fail(err error) string {
	if x.err == nil {
		x.err = err
	}
	return ""
}
