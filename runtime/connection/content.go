package connection

import (
	"errors"
	"fmt"
	"math"
	"net/mail"
	"net/url"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/mcpwright/mcp/generated/mcp"
)

// CheckContent judges a form that was filled in, by either end. Fields that the
// form does not have are nobody's business.
func CheckContent(form *mcp.RequestedSchema, content map[string]any) error {
	for _, name := range form.Required {
		if _, has := content[name]; !has {
			return fmt.Errorf("field %q: it is required and missing", name)
		}
	}
	for _, field := range form.Properties {
		value, has := content[field.Name]
		if !has {
			continue
		}
		if err := checkValue(field.Value, value); err != nil {
			return fmt.Errorf("field %q: %w", field.Name, err)
		}
	}
	return nil
}

// checkValue judges what one field was filled in with.
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
			err = errors.New("it has no scheme")
		}
	case mcp.StringFormatEmail:
		var a *mail.Address
		if a, err = mail.ParseAddress(text); err == nil && a.Address != text {
			err = errors.New("it is more than an address")
		}
	}
	if err != nil {
		return fmt.Errorf("not of the format %q: %w", format, err)
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
		return fmt.Errorf("%q is none of the options", text)
	}
	return nil
}

func checkChoices(options []string, least, most *int64, value any) error {
	list, ok := value.([]string)
	if !ok {
		return fmt.Errorf("want a list of options, have %T", value)
	}
	n := int64(len(list))
	switch {
	case least != nil && n < *least:
		return fmt.Errorf("want %d options or more, have %d", *least, n)
	case most != nil && n > *most:
		return fmt.Errorf("want %d options or fewer, have %d", *most, n)
	}
	for _, text := range list {
		if err := checkChoice(options, text); err != nil {
			return err
		}
	}
	return nil
}
