// Package schema makes the JSON schemas of tools: with functions for each kind of value, from a Go
// type, or from another package's schema.
//
// A complete program with a raw tool:
//
//	package main
//
//	import (
//		"context"
//		"log"
//
//		"github.com/mcpwright/mcp/generated/mcp"
//		"github.com/mcpwright/mcp/runtime/mcpserver"
//		"github.com/mcpwright/mcp/runtime/mcpserver/schema"
//	)
//
//	func main() {
//		server := mcpserver.New(mcp.Implementation{Name: "weather", Version: "1.0.0"}, nil)
//		server.AddRawTool(&mcp.Tool{
//			Name: "forecast",
//			InputSchema: schema.Object(
//				schema.String("city", schema.Required(), schema.Description("the name of a city")),
//				schema.Integer("days", schema.Minimum(1), schema.Default(3)),
//			),
//		}, forecast)
//		log.Fatal(server.ServeStdio(context.Background()))
//	}
//
//	func forecast(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
//		args, err := mcpserver.ReadArguments(req)
//		if err != nil {
//			return nil, err
//		}
//		city, err := args.RequireString("city")
//		if err != nil {
//			return nil, err
//		}
//		return mcp.TextResult("sunny in " + city), nil
//	}
//
// A typed tool needs no schema: [mcpserver.AddTool] infers it.
package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/mcpwright/mcp/runtime/internal/validate"
	"github.com/mcpwright/mcp/runtime/mcpserver/internal/typed"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Member is a member of an object.
type Member struct {
	name     string
	required bool
	schema   keywords
}

// An Option changes the schema of a member.
type Option func(*Member)

// keywords are the keywords of a schema, in their order.
type keywords []keyword

type keyword struct {
	name  string
	value any
}

// set sets a keyword. It replaces an earlier value.
func (k *keywords) set(name string, value any) {
	for i := range *k {
		if (*k)[i].name == name {
			(*k)[i].value = value
			return
		}
	}
	*k = append(*k, keyword{name, value})
}

// MarshalJSON implements [json.Marshaler].
func (k keywords) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, x := range k {
		if i > 0 {
			b = append(b, ',')
		}
		value, err := marshal(x.value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", x.name, err)
		}
		b = append(append(wire.AppendString(b, x.name), ':'), value...)
	}
	return append(b, '}'), nil
}

func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

// Object returns the schema of an object with members. Unknown members are allowed. It panics if a
// value in an option, such as a default, cannot be encoded as JSON.
func Object(members ...Member) json.RawMessage {
	text, err := marshal(object(members))
	if err != nil {
		panic(fmt.Errorf("schema: %w", err))
	}
	return text
}

// object returns the keywords of an object.
func object(members []Member) keywords {
	k := keywords{{"type", "object"}}
	var properties keywords
	var required []string
	for _, m := range members {
		properties.set(m.name, m.schema)
		if m.required {
			required = append(required, m.name)
		}
	}
	if len(properties) > 0 {
		k.set("properties", properties)
	}
	if len(required) > 0 {
		k.set("required", required)
	}
	return k
}

func newMember(name string, schema keywords, opts []Option) Member {
	m := Member{name: name, schema: schema}
	for _, o := range opts {
		o(&m)
	}
	return m
}

// String returns a member that is a string.
func String(name string, opts ...Option) Member {
	return newMember(name, keywords{{"type", "string"}}, opts)
}

// Integer returns a member that is an integer.
func Integer(name string, opts ...Option) Member {
	return newMember(name, keywords{{"type", "integer"}}, opts)
}

// Number returns a member that is a number.
func Number(name string, opts ...Option) Member {
	return newMember(name, keywords{{"type", "number"}}, opts)
}

// Boolean returns a member that is true or false.
func Boolean(name string, opts ...Option) Member {
	return newMember(name, keywords{{"type", "boolean"}}, opts)
}

// Array returns a member that is a list. [Items] and [ItemsOf] set the schema of its items.
func Array(name string, opts ...Option) Member {
	return newMember(name, keywords{{"type", "array"}}, opts)
}

// Nested returns a member that is an object with members.
func Nested(name string, members []Member, opts ...Option) Member {
	return newMember(name, object(members), opts)
}

// Any returns a member that may have any value, unless options restrict it.
func Any(name string, opts ...Option) Member { return newMember(name, keywords{}, opts) }

// Required makes a member required.
func Required() Option { return func(m *Member) { m.required = true } }

// Keyword sets a keyword of JSON Schema for which this package has no option.
func Keyword(name string, value any) Option {
	return func(m *Member) { m.schema.set(name, value) }
}

// Description describes a member to a model.
func Description(text string) Option { return Keyword("description", text) }

// Title sets the title of a member.
func Title(text string) Option { return Keyword("title", text) }

// Default states the value that an absent member has. The handler sets it.
func Default(value any) Option { return Keyword("default", value) }

// Enum lists the values that a member may have.
func Enum[T any](values ...T) Option { return Keyword("enum", values) }

// Minimum is the smallest number that is valid.
func Minimum(n float64) Option { return Keyword("minimum", n) }

// Maximum is the largest number that is valid.
func Maximum(n float64) Option { return Keyword("maximum", n) }

// MinLength is the smallest number of characters of a string.
func MinLength(n int) Option { return Keyword("minLength", n) }

// MaxLength is the largest number of characters of a string.
func MaxLength(n int) Option { return Keyword("maxLength", n) }

// Pattern is a regular expression that a string must match.
func Pattern(expression string) Option { return Keyword("pattern", expression) }

// Format is the format of a string, such as "date-time". It is not validated.
func Format(name string) Option { return Keyword("format", name) }

// MinItems is the smallest number of items of a list.
func MinItems(n int) Option { return Keyword("minItems", n) }

// MaxItems is the largest number of items of a list.
func MaxItems(n int) Option { return Keyword("maxItems", n) }

// Items is the schema of the items of a list.
func Items(schema json.RawMessage) Option { return Keyword("items", schema) }

// ItemsOf describes the items of a list like a member, whose name and Required have no effect:
//
//	schema.Array("cities", schema.ItemsOf(schema.String("")))
func ItemsOf(item Member) Option { return Keyword("items", item.schema) }

// For returns the schema of the arguments of type T, as [mcpserver.AddTool] infers it.
func For[T any]() (json.RawMessage, error) {
	return typed.Infer(reflect.TypeFor[T](), &typed.Options{Input: true})
}

// ForResult returns the schema of results of type T, as [mcpserver.AddTool] infers it. Unlike the
// schema of arguments, it accepts null for a nil slice or map.
func ForResult[T any]() (json.RawMessage, error) {
	return typed.Infer(reflect.TypeFor[T](), &typed.Options{})
}

// From returns the schema that v is encoded to, for example a *jsonschema.Schema of
// github.com/google/jsonschema-go, or of another package. It returns an error if that is no valid
// schema.
func From(v any) (json.RawMessage, error) {
	text, err := marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode schema: %w", err)
	}
	return Parse(string(text))
}

// To returns a schema as a value of a type that is decoded from JSON, such as jsonschema.Schema of
// github.com/google/jsonschema-go. Tests read the schemas of tools with it:
//
//	s, err := schema.To[jsonschema.Schema](tool.InputSchema)
func To[T any](schema json.RawMessage) (*T, error) {
	v := new(T)
	if err := json.Unmarshal(schema, v); err != nil {
		return nil, fmt.Errorf("decode schema: %w", err)
	}
	return v, nil
}

// Parse returns a schema in a text. It returns an error if the text is no valid schema.
func Parse(text string) (json.RawMessage, error) {
	if _, err := validate.Compile(json.RawMessage(text)); err != nil {
		return nil, err
	}
	return json.RawMessage(text), nil
}

// Must returns a schema, and panics if there is an error.
func Must(schema json.RawMessage, err error) json.RawMessage {
	if err != nil {
		panic(fmt.Errorf("schema: %w", err))
	}
	return schema
}
