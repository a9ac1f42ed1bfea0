package connection

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/wire"
)

// checkElicit judges an elicitation: its mode by what the client declared, and
// its form or address by what forms and addresses may be.
func (d door) checkElicit(req *mcp.ElicitRequest) (checked, error) {
	method := req.Method()
	switch p := req.Params.(type) {
	case *mcp.ElicitRequestFormParams:
		if err := d.needMode(method, "elicitation.form", p.Task); err != nil {
			return checked{}, err
		}
		if err := CheckForm(&p.RequestedSchema); err != nil {
			return checked{}, &InvalidError{Method: method, Err: err}
		}
		return checked{form: &p.RequestedSchema}, nil
	case *mcp.ElicitRequestURLParams:
		if err := d.needMode(method, "elicitation.url", p.Task); err != nil {
			return checked{}, err
		}
		if err := d.checkURL(p); err != nil {
			return checked{}, &InvalidError{Method: method, Err: err}
		}
	case *mcp.UnknownElicitRequestParams:
		return d.checkUnknownElicit(method, p)
	}
	return checked{}, nil
}

// checkUnknownElicit judges params of which the program knows no type: if the
// revision knows one, by that.
func (d door) checkUnknownElicit(method string, p *mcp.UnknownElicitRequestParams) (checked, error) {
	known := new(mcp.ElicitRequest)
	if err := wire.DecodeParams(p.Raw, plainFrame(d.facts.revision), known); err != nil {
		return checked{}, &InvalidError{Method: method, Err: err}
	}
	if _, still := known.Params.(*mcp.UnknownElicitRequestParams); still {
		err := fmt.Errorf("revision %s has no elicitation of that mode", d.facts.revision)
		return checked{}, &InvalidError{Method: method, Err: err}
	}
	return d.checkElicit(known)
}

func (d door) needMode(method, mode string, task *mcp.TaskMetadata) error {
	if err := d.need(method, mode); err != nil || task == nil {
		return err
	}
	return d.need(method, "tasks.requests.elicitation.create")
}

func (d door) checkURL(p *mcp.ElicitRequestURLParams) error {
	u, err := url.Parse(p.URL)
	switch {
	case err != nil:
		return err // names the address
	case u.Scheme == "" || u.Host == "" && u.Opaque == "":
		return fmt.Errorf("%q is no absolute URL", p.URL)
	case p.ElicitationID == "" && d.facts.revision == mcp.Revision20251125:
		return errors.New("the elicitation needs an id")
	}
	return nil
}

// CheckForm judges a form: a flat list of fields, each of one of the types that
// a client can draw. Schemas made of Go structs, see [FormOf], pass.
func CheckForm(form *mcp.RequestedSchema) error {
	seen := make(map[string]bool, len(form.Properties))
	for _, field := range form.Properties {
		if seen[field.Name] {
			return fmt.Errorf("field %q: a second one of that name", field.Name)
		}
		seen[field.Name] = true
		if err := checkField(field.Value); err != nil {
			return fmt.Errorf("field %q: %w", field.Name, err)
		}
	}
	for _, name := range form.Required {
		if !seen[name] {
			return fmt.Errorf("field %q is required but not part of the form", name)
		}
	}
	return checkExtra(form.Extra)
}

// checkField judges one field: its own rules, and that its default keeps them.
func checkField(field mcp.PrimitiveSchemaDefinition) error {
	switch f := field.(type) {
	case *mcp.StringSchema:
		return errors.Join(checkExtra(f.Extra), knownFormat(f.Format),
			ordered("length", f.MinLength, f.MaxLength), fits(f, f.Default))
	case *mcp.NumberSchema:
		return errors.Join(checkExtra(f.Extra), ordered("value", f.Minimum, f.Maximum), fits(f, f.Default))
	case *mcp.BooleanSchema:
		return checkExtra(f.Extra)
	case *mcp.UntitledSingleSelectEnumSchema:
		return errors.Join(checkExtra(f.Extra), checkOptions(f.Enum), fits(f, f.Default))
	case *mcp.TitledSingleSelectEnumSchema:
		return errors.Join(checkExtra(f.Extra), checkOptions(consts(f.OneOf)), fits(f, f.Default))
	case *mcp.LegacyTitledEnumSchema:
		if len(f.EnumNames) > 0 && len(f.EnumNames) != len(f.Enum) {
			return fmt.Errorf("%d options have %d titles", len(f.Enum), len(f.EnumNames))
		}
		return errors.Join(checkExtra(f.Extra), checkOptions(f.Enum), fits(f, f.Default))
	case *mcp.UntitledMultiSelectEnumSchema:
		return errors.Join(checkExtra(f.Extra), checkExtra(f.Items.Extra), checkOptions(f.Items.Enum),
			ordered("number of options", f.MinItems, f.MaxItems), fitsList(f, f.Default))
	case *mcp.TitledMultiSelectEnumSchema:
		return errors.Join(checkExtra(f.Extra), checkExtra(f.Items.Extra), checkOptions(consts(f.Items.AnyOf)),
			ordered("number of options", f.MinItems, f.MaxItems), fitsList(f, f.Default))
	case nil:
		return errors.New("it has no schema")
	}
	return errors.New("its schema is of no type that forms have")
}

// checkExtra refuses what forms do not have, above all nesting and references.
// Names that begin with "x-" are nobody's business.
func checkExtra[T any](extra map[string]T) error {
	for name := range extra {
		if !strings.HasPrefix(name, "x-") {
			return fmt.Errorf("forms have no member %q", name)
		}
	}
	return nil
}

func knownFormat(format mcp.StringFormat) error {
	switch format {
	case "", mcp.StringFormatDate, mcp.StringFormatDateTime, mcp.StringFormatEmail, mcp.StringFormatURI:
		return nil
	}
	return fmt.Errorf("forms have no format %q", format)
}

func ordered[N int64 | float64](what string, least, most *N) error {
	if least != nil && most != nil && *least > *most {
		return fmt.Errorf("the least %s, %v, is above the most, %v", what, *least, *most)
	}
	return nil
}

func checkOptions(options []string) error {
	if len(options) == 0 {
		return errors.New("there are no options to choose from")
	}
	sorted := slices.Sorted(slices.Values(options))
	if len(slices.Compact(sorted)) != len(options) {
		return errors.New("an option is there twice")
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

// fits judges a default by the field that has it.
func fits[T any](field mcp.PrimitiveSchemaDefinition, value *T) error {
	if value == nil {
		return nil
	}
	if err := checkValue(field, *value); err != nil {
		return fmt.Errorf("default: %w", err)
	}
	return nil
}

func fitsList(field mcp.PrimitiveSchemaDefinition, value []string) error {
	if value == nil {
		return nil
	}
	return fits(field, &value)
}
