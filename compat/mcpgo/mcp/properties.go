package mcp

import (
	"encoding/json"
	"log/slog"
	"reflect"

	"github.com/mcpwright/mcp/runtime/mcpserver/schema"
)

// PropertyOption changes the schema of a property.
type PropertyOption func(schema map[string]any)

func set(keyword string, value any) PropertyOption {
	return func(schema map[string]any) { schema[keyword] = value }
}

// property adds a property to the schema of a tool. The option [Required] leaves a boolean in
// the property, which becomes an entry of the list of required properties.
func property(name string, schema map[string]any, opts []PropertyOption) ToolOption {
	return func(t *Tool) {
		for _, opt := range opts {
			opt(schema)
		}
		if required, ok := schema["required"].(bool); ok {
			delete(schema, "required")
			if required {
				t.InputSchema.Required = append(t.InputSchema.Required, name)
			}
		}
		if t.InputSchema.Properties == nil {
			t.InputSchema.Properties = map[string]any{}
		}
		t.InputSchema.Properties[name] = schema
	}
}

// WithString adds a property that is a string.
func WithString(name string, opts ...PropertyOption) ToolOption {
	return property(name, map[string]any{"type": "string"}, opts)
}

// WithNumber adds a property that is a number.
func WithNumber(name string, opts ...PropertyOption) ToolOption {
	return property(name, map[string]any{"type": "number"}, opts)
}

// WithInteger adds a property that is an integer.
func WithInteger(name string, opts ...PropertyOption) ToolOption {
	return property(name, map[string]any{"type": "integer"}, opts)
}

// WithBoolean adds a property that is a boolean.
func WithBoolean(name string, opts ...PropertyOption) ToolOption {
	return property(name, map[string]any{"type": "boolean"}, opts)
}

// WithObject adds a property that is an object.
func WithObject(name string, opts ...PropertyOption) ToolOption {
	return property(name, map[string]any{"type": "object", "properties": map[string]any{}}, opts)
}

// WithArray adds a property that is an array.
func WithArray(name string, opts ...PropertyOption) ToolOption {
	return property(name, map[string]any{"type": "array"}, opts)
}

// WithAny adds a property of any type.
func WithAny(name string, opts ...PropertyOption) ToolOption {
	return property(name, map[string]any{}, opts)
}

// Required makes a property required. It has no effect on the items of an array.
func Required() PropertyOption { return set("required", true) }

// Description sets the description of a property.
func Description(desc string) PropertyOption { return set("description", desc) }

// Title sets the title of a property.
func Title(title string) PropertyOption { return set("title", title) }

// DefaultString sets the default of a string. Defaults are only documentation: the handler of a
// call without the argument does not receive them.
func DefaultString(value string) PropertyOption { return set("default", value) }

// DefaultBool sets the default of a boolean; see [DefaultString].
func DefaultBool(value bool) PropertyOption { return set("default", value) }

// DefaultNumber sets the default of a number; see [DefaultString].
func DefaultNumber[T int | int64 | float64](value T) PropertyOption { return set("default", value) }

// DefaultArray sets the default of an array; see [DefaultString].
func DefaultArray[T any](value []T) PropertyOption { return set("default", value) }

// Enum limits a string to some values.
func Enum(values ...string) PropertyOption { return set("enum", values) }

// Min sets the least value of a number.
func Min[T int | int64 | float64](min T) PropertyOption { return set("minimum", min) }

// Max sets the greatest value of a number.
func Max[T int | int64 | float64](max T) PropertyOption { return set("maximum", max) }

// MultipleOf requires a number to be a multiple of a value.
func MultipleOf[T int | int64 | float64](value T) PropertyOption { return set("multipleOf", value) }

// MinLength sets the least length of a string.
func MinLength(min int) PropertyOption { return set("minLength", min) }

// MaxLength sets the greatest length of a string.
func MaxLength(max int) PropertyOption { return set("maxLength", max) }

// Pattern requires a string to match a regular expression.
func Pattern(pattern string) PropertyOption { return set("pattern", pattern) }

// MinItems sets the least length of an array.
func MinItems(min int) PropertyOption { return set("minItems", min) }

// MaxItems sets the greatest length of an array.
func MaxItems(max int) PropertyOption { return set("maxItems", max) }

// UniqueItems requires the items of an array to differ.
func UniqueItems(unique bool) PropertyOption { return set("uniqueItems", unique) }

// MinProperties sets the least number of properties of an object.
func MinProperties(min int) PropertyOption { return set("minProperties", min) }

// MaxProperties sets the greatest number of properties of an object.
func MaxProperties(max int) PropertyOption { return set("maxProperties", max) }

// Properties sets the properties of an object.
func Properties(props map[string]any) PropertyOption { return set("properties", props) }

// AdditionalProperties sets whether an object may have other properties, or their schema.
func AdditionalProperties(schema any) PropertyOption { return set("additionalProperties", schema) }

// PropertyNames sets the schema of the names of an object's properties.
func PropertyNames(schema map[string]any) PropertyOption { return set("propertyNames", schema) }

// Items sets the schema of the items of an array.
func Items(schema any) PropertyOption { return set("items", schema) }

func items(kind string, opts []PropertyOption) PropertyOption {
	return func(schema map[string]any) {
		item := map[string]any{"type": kind}
		for _, opt := range opts {
			opt(item)
		}
		delete(item, "required")
		schema["items"] = item
	}
}

// WithStringItems makes the items of an array strings.
func WithStringItems(opts ...PropertyOption) PropertyOption { return items("string", opts) }

// WithStringEnumItems makes the items of an array strings out of some values.
func WithStringEnumItems(values []string) PropertyOption {
	return items("string", []PropertyOption{Enum(values...)})
}

// WithNumberItems makes the items of an array numbers.
func WithNumberItems(opts ...PropertyOption) PropertyOption { return items("number", opts) }

// WithIntegerItems makes the items of an array integers.
func WithIntegerItems(opts ...PropertyOption) PropertyOption { return items("integer", opts) }

// WithBooleanItems makes the items of an array booleans.
func WithBooleanItems(opts ...PropertyOption) PropertyOption { return items("boolean", opts) }

// SchemaForRaw returns the schema that is inferred from a Go type, by
// [github.com/mcpwright/mcp/runtime/mcpserver/schema.For]. In mcp-go the schema of the same type
// may differ in details.
func SchemaForRaw[T any]() (json.RawMessage, error) { return schema.For[T]() }

// SchemaFor is like [SchemaForRaw] but returns the decoded schema. It returns nil if no schema can
// be inferred.
func SchemaFor[T any]() map[string]any {
	data, err := SchemaForRaw[T]()
	if err != nil {
		return nil
	}
	var decoded map[string]any
	if json.Unmarshal(data, &decoded) != nil {
		return nil
	}
	return decoded
}

// WithInputSchema infers the schema of the arguments from a Go type; see [SchemaForRaw]. If no
// schema can be inferred, the error is logged and the tool is not changed.
func WithInputSchema[T any]() ToolOption { return withInferred[T](SchemaForRaw[T], WithRawInputSchema) }

// WithOutputSchema is like [WithInputSchema] for the schema of the structured content, which accepts null for a
// nil slice or map.
func WithOutputSchema[T any]() ToolOption {
	return withInferred[T](schema.ForResult[T], WithRawOutputSchema)
}

func withInferred[T any](infer func() (json.RawMessage, error), set func(json.RawMessage) ToolOption) ToolOption {
	return func(t *Tool) {
		raw, err := infer()
		if err != nil {
			slog.Error("no schema was inferred", "tool", t.Name, "type", reflect.TypeFor[T](), "error", err)
			return
		}
		set(raw)(t)
	}
}
