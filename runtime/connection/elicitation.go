package connection

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"sort"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/wire"
)

// CheckForm validates a form: a flat list of fields, each of a type that clients can display. A
// form that [FormOf] returns is valid.
func CheckForm(form *mcp.RequestedSchema) error {
	seen := make(map[string]bool, len(form.Properties))
	for _, field := range form.Properties {
		if seen[field.Name] {
			return fmt.Errorf("field %q: duplicate name", field.Name)
		}
		seen[field.Name] = true
		if err := checkField(field.Schema); err != nil {
			return fmt.Errorf("field %q: %w", field.Name, err)
		}
	}
	for _, name := range form.Required {
		if !seen[name] {
			return fmt.Errorf("required field %q: not part of the form", name)
		}
	}
	return checkExtra(form.Extra)
}

// checkField validates the schema of a field and its default value.
func checkField(field mcp.PrimitiveSchemaDefinition) error {
	switch f := field.(type) {
	case *mcp.StringSchema:
		return errors.Join(checkExtra(f.Extra), checkKnownFormat(f.Format),
			checkRange("length", f.MinLength, f.MaxLength), checkDefault(f, f.Default))
	case *mcp.NumberSchema:
		return errors.Join(checkExtra(f.Extra), checkRange("value", f.Minimum, f.Maximum), checkDefault(f, f.Default))
	case *mcp.BooleanSchema:
		return checkExtra(f.Extra)
	case *mcp.UntitledSingleSelectEnumSchema:
		return errors.Join(checkExtra(f.Extra), checkOptions(f.Enum), checkDefault(f, f.Default))
	case *mcp.TitledSingleSelectEnumSchema:
		return errors.Join(checkExtra(f.Extra), checkOptions(consts(f.OneOf)), checkDefault(f, f.Default))
	case *mcp.LegacyTitledEnumSchema:
		if len(f.EnumNames) > 0 && len(f.EnumNames) != len(f.Enum) {
			return fmt.Errorf("%d options have %d titles", len(f.Enum), len(f.EnumNames))
		}
		return errors.Join(checkExtra(f.Extra), checkOptions(f.Enum), checkDefault(f, f.Default))
	case *mcp.UntitledMultiSelectEnumSchema:
		return errors.Join(checkExtra(f.Extra), checkExtra(f.Items.Extra), checkOptions(f.Items.Enum),
			checkRange("number of options", f.MinItems, f.MaxItems), checkDefaultList(f, f.Default))
	case *mcp.TitledMultiSelectEnumSchema:
		return errors.Join(checkExtra(f.Extra), checkExtra(f.Items.Extra), checkOptions(consts(f.Items.AnyOf)),
			checkRange("number of options", f.MinItems, f.MaxItems), checkDefaultList(f, f.Default))
	case nil:
		return errors.New("no schema")
	}
	return errors.New("type of schema not allowed in forms")
}

// checkExtra returns an error for members that forms do not have, such as nested schemas and
// references. It ignores names that begin with "x-".
func checkExtra[T any](extra map[string]T) error {
	for name := range extra {
		if !strings.HasPrefix(name, "x-") {
			return fmt.Errorf("member %q not allowed in forms", name)
		}
	}
	return nil
}

func checkKnownFormat(format mcp.StringFormat) error {
	switch format {
	case "", mcp.StringFormatDate, mcp.StringFormatDateTime, mcp.StringFormatEmail, mcp.StringFormatURI:
		return nil
	}
	return fmt.Errorf("format %q not allowed in forms", format)
}

func checkRange[N int64 | float64](what string, minimum, maximum *N) error {
	if minimum != nil && maximum != nil && *minimum > *maximum {
		return fmt.Errorf("minimum %s %v exceeds the maximum %v", what, *minimum, *maximum)
	}
	return nil
}

func checkOptions(options []string) error {
	if len(options) == 0 {
		return errors.New("no options")
	}
	sorted := slices.Clone(options)
	sort.Strings(sorted)
	if len(slices.Compact(sorted)) != len(options) {
		return errors.New("duplicate option")
	}
	return nil
}

func consts(options []mcp.EnumOption) []string {
	values := make([]string, len(options))
	for i := range options {
		values[i] = options[i].Const
	}
	return values
}

// checkDefault validates the default value of a field.
func checkDefault[T any](field mcp.PrimitiveSchemaDefinition, value *T) error {
	if value == nil {
		return nil
	}
	if err := checkValue(field, *value); err != nil {
		return fmt.Errorf("default: %w", err)
	}
	return nil
}

func checkDefaultList(field mcp.PrimitiveSchemaDefinition, value []string) error {
	if value == nil {
		return nil
	}
	return checkDefault(field, &value)
}

// CheckContent validates the content of a completed form. It ignores members that are not fields
// of the form. Clients and servers can both call it.
func CheckContent(form *mcp.RequestedSchema, content map[string]any) error {
	for _, name := range form.Required {
		if _, has := content[name]; !has {
			return fmt.Errorf("field %q: missing and required", name)
		}
	}
	for _, field := range form.Properties {
		value, has := content[field.Name]
		if !has {
			continue
		}
		if err := checkValue(field.Schema, value); err != nil {
			return fmt.Errorf("field %q: %w", field.Name, err)
		}
	}
	return nil
}

// checkValue validates the value of a field.
func checkValue(field mcp.PrimitiveSchemaDefinition, value any) error {
	switch f := field.(type) {
	case *mcp.StringSchema:
		return checkText(f, value)
	case *mcp.NumberSchema:
		return checkNumber(f, value)
	case *mcp.BooleanSchema:
		if _, ok := value.(bool); !ok {
			return fmt.Errorf("want true or false, have %T", value)
		}
	case *mcp.UntitledSingleSelectEnumSchema:
		return checkChoice(f.Enum, value)
	case *mcp.TitledSingleSelectEnumSchema:
		return checkChoice(consts(f.OneOf), value)
	case *mcp.LegacyTitledEnumSchema:
		return checkChoice(f.Enum, value)
	case *mcp.UntitledMultiSelectEnumSchema:
		return checkChoices(f.Items.Enum, f.MinItems, f.MaxItems, value)
	case *mcp.TitledMultiSelectEnumSchema:
		return checkChoices(consts(f.Items.AnyOf), f.MinItems, f.MaxItems, value)
	}
	return nil
}

func checkText(f *mcp.StringSchema, value any) error {
	text, ok := value.(string)
	if !ok {
		return fmt.Errorf("want text, have %T", value)
	}
	n := int64(utf8.RuneCountInString(text))
	switch {
	case f.MinLength != nil && n < *f.MinLength:
		return fmt.Errorf("want %d characters or more, have %d", *f.MinLength, n)
	case f.MaxLength != nil && n > *f.MaxLength:
		return fmt.Errorf("want %d characters or fewer, have %d", *f.MaxLength, n)
	}
	return checkFormat(f.Format, text)
}

func checkFormat(format mcp.StringFormat, text string) (err error) {
	switch format {
	case mcp.StringFormatDate:
		_, err = time.Parse(time.DateOnly, text)
	case mcp.StringFormatDateTime:
		_, err = time.Parse(time.RFC3339, text)
	case mcp.StringFormatURI:
		var u *url.URL
		if u, err = url.Parse(text); err == nil && u.Scheme == "" {
			err = errors.New("no scheme")
		}
	case mcp.StringFormatEmail:
		err = checkEmail(text)
	}
	if err != nil {
		return fmt.Errorf("format %q: %w", format, err)
	}
	return nil
}

func checkNumber(f *mcp.NumberSchema, value any) error {
	var n float64
	switch v := value.(type) {
	case float64:
		n = v
	case int64:
		n = float64(v)
	case int:
		n = float64(v)
	default:
		return fmt.Errorf("want a number, have %T", value)
	}
	switch {
	case f.Type == mcp.NumberTypeInteger && n != math.Trunc(n):
		return fmt.Errorf("want an integer, have %v", n)
	case f.Minimum != nil && n < *f.Minimum:
		return fmt.Errorf("want %v or more, have %v", *f.Minimum, n)
	case f.Maximum != nil && n > *f.Maximum:
		return fmt.Errorf("want %v or less, have %v", *f.Maximum, n)
	}
	return nil
}

func checkChoice(options []string, value any) error {
	text, ok := value.(string)
	if !ok {
		return fmt.Errorf("want one of the options, have %T", value)
	}
	if !slices.Contains(options, text) {
		return fmt.Errorf("%q is not an option", text)
	}
	return nil
}

func checkChoices(options []string, minimum, maximum *int64, value any) error {
	list, ok := value.([]string)
	if !ok {
		return fmt.Errorf("want a list of options, have %T", value)
	}
	n := int64(len(list))
	switch {
	case minimum != nil && n < *minimum:
		return fmt.Errorf("want %d options or more, have %d", *minimum, n)
	case maximum != nil && n > *maximum:
		return fmt.Errorf("want %d options or fewer, have %d", *maximum, n)
	}
	for _, text := range list {
		if err := checkChoice(options, text); err != nil {
			return err
		}
	}
	return nil
}

// checkURL validates the URL of an elicitation in a revision.
func checkURL(p *mcp.ElicitRequestURLParams, r wire.Revision) error {
	u, err := url.Parse(p.URL)
	switch {
	case err != nil:
		return err // contains the URL
	case u.Scheme == "" || u.Host == "" && u.Opaque == "":
		return fmt.Errorf("%q is not an absolute URL", p.URL)
	case p.ElicitationID == "" && r == mcp.Revision20251125:
		return errors.New("no elicitation id")
	}
	return nil
}
