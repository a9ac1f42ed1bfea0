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
func (a Arguments) RequireString(name string) (string, error) {
	return requireArgument[string](a, name, "a string")
}

// RequireInt returns an argument that must be an integer.
func (a Arguments) RequireInt(name string) (int, error) {
	return requireArgument[int](a, name, "an integer")
}

// RequireFloat returns an argument that must be a number.
func (a Arguments) RequireFloat(name string) (float64, error) {
	return requireArgument[float64](a, name, "a number")
}

// RequireBool returns an argument that must be a boolean.
func (a Arguments) RequireBool(name string) (bool, error) {
	return requireArgument[bool](a, name, "true or false")
}

// RequireStrings returns an argument that must be a list of strings.
func (a Arguments) RequireStrings(name string) ([]string, error) {
	return requireArgument[[]string](a, name, "a list of strings")
}

// String returns an argument that must be a string, or a default if it is absent.
func (a Arguments) String(name, byDefault string) (string, error) {
	return argumentOr(a, name, byDefault, a.RequireString)
}

// Int returns an argument that must be an integer, or a default if it is absent.
func (a Arguments) Int(name string, byDefault int) (int, error) {
	return argumentOr(a, name, byDefault, a.RequireInt)
}

// Float returns an argument that must be a number, or a default if it is absent.
func (a Arguments) Float(name string, byDefault float64) (float64, error) {
	return argumentOr(a, name, byDefault, a.RequireFloat)
}

// Bool returns an argument that must be a boolean, or a default if it is absent.
func (a Arguments) Bool(name string, byDefault bool) (bool, error) {
	return argumentOr(a, name, byDefault, a.RequireBool)
}

// Strings returns an argument that must be a list of strings, or a default if it is absent.
func (a Arguments) Strings(name string, byDefault ...string) ([]string, error) {
	return argumentOr(a, name, byDefault, a.RequireStrings)
}

func argumentOr[T any](a Arguments, name string, byDefault T, require func(string) (T, error)) (T, error) {
	if !a.Has(name) {
		return byDefault, nil
	}
	return require(name)
}

// requireArgument returns an argument, or an error that states which kind of value is required.
func requireArgument[T any](a Arguments, name, kind string) (T, error) {
	var value T
	if !a.Has(name) {
		return value, Errorf("Argument %q is required. It must be %s.", name, kind)
	}
	if err := json.Unmarshal(integerText(a[name]), &value); err != nil {
		var none T
		return none, Errorf("Argument %q must be %s, not %s.", name, kind, limit.Name(string(a[name])))
	}
	return value, nil
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
