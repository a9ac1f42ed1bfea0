package mcpserver

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/limit"
)

// Arguments are the arguments of a call, by name. They are for raw tools: the handler of a typed
// tool gets a Go value. The errors of all methods are made for the model, see [Errorf].
//
//	args, err := mcpserver.ReadArguments(req)
//	…
//	city, err := args.RequireString("city")
//	…
//	days, err := args.Int("days", 1)
//
// An argument that is null counts as absent.
type Arguments map[string]json.RawMessage

// ReadArguments returns the arguments of a call.
func ReadArguments(req *mcp.CallToolRequest) (Arguments, error) {
	var a Arguments
	if len(req.Arguments) == 0 {
		return a, nil
	}
	if err := json.Unmarshal(req.Arguments, &a); err != nil {
		return nil, Errorf("The arguments must be a JSON object.")
	}
	return a, nil
}

// Has reports whether an argument is present and not null.
func (a Arguments) Has(name string) bool { return len(a[name]) > 0 && string(a[name]) != "null" }

// Decode decodes an argument like [json.Unmarshal]. An absent argument changes nothing.
func (a Arguments) Decode(name string, into any) error {
	if !a.Has(name) {
		return nil
	}
	if err := json.Unmarshal(a[name], into); err != nil {
		return Errorf("Argument %q is invalid: %w", name, err)
	}
	return nil
}

// RequireString returns an argument that must be a string.
func (a Arguments) RequireString(name string) (value string, err error) {
	err = a.decode(name, "a string", &value)
	return value, err
}

// RequireInt returns an argument that must be an integer.
func (a Arguments) RequireInt(name string) (value int, err error) {
	err = a.decode(name, "an integer", &value)
	return value, err
}

// RequireFloat returns an argument that must be a number.
func (a Arguments) RequireFloat(name string) (value float64, err error) {
	err = a.decode(name, "a number", &value)
	return value, err
}

// RequireBool returns an argument that must be a boolean.
func (a Arguments) RequireBool(name string) (value bool, err error) {
	err = a.decode(name, "true or false", &value)
	return value, err
}

// RequireStrings returns an argument that must be a list of strings.
func (a Arguments) RequireStrings(name string) (value []string, err error) {
	if err = a.decode(name, "a list of strings", &value); err != nil {
		return nil, err
	}
	return value, nil
}

// String returns an argument that must be a string, or a default if it is absent.
func (a Arguments) String(name, byDefault string) (string, error) {
	if !a.Has(name) {
		return byDefault, nil
	}
	return a.RequireString(name)
}

// Int returns an argument that must be an integer, or a default if it is absent.
func (a Arguments) Int(name string, byDefault int) (int, error) {
	if !a.Has(name) {
		return byDefault, nil
	}
	return a.RequireInt(name)
}

// Float returns an argument that must be a number, or a default if it is absent.
func (a Arguments) Float(name string, byDefault float64) (float64, error) {
	if !a.Has(name) {
		return byDefault, nil
	}
	return a.RequireFloat(name)
}

// Bool returns an argument that must be a boolean, or a default if it is absent.
func (a Arguments) Bool(name string, byDefault bool) (bool, error) {
	if !a.Has(name) {
		return byDefault, nil
	}
	return a.RequireBool(name)
}

// Strings returns an argument that must be a list of strings, or a default if it is absent.
func (a Arguments) Strings(name string, byDefault ...string) ([]string, error) {
	if !a.Has(name) {
		return byDefault, nil
	}
	return a.RequireStrings(name)
}

// decode decodes an argument. An error states which kind of value is required.
func (a Arguments) decode(name, kind string, value any) error {
	if !a.Has(name) {
		return Errorf("Argument %q is required. It must be %s.", name, kind)
	}
	if err := json.Unmarshal(integerText(a[name]), value); err != nil {
		return Errorf("Argument %q must be %s, not %s.", name, kind, limit.Name(string(a[name])))
	}
	return nil
}

// integerText returns a number such as 2.0 or 2e3 without its fraction or exponent, if it is an
// integer. JSON does not distinguish them, but package json does.
func integerText(value json.RawMessage) json.RawMessage {
	text := string(value)
	if !strings.ContainsAny(text, ".eE") || !strings.ContainsAny(text[:1], "-0123456789") {
		return value
	}
	var number float64
	if json.Unmarshal(value, &number) != nil || number != float64(int64(number)) || number > 1<<53 || number < -(1<<53) {
		return value
	}
	return fmt.Appendf(nil, "%d", int64(number))
}
