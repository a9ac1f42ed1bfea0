package skillfiles

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/mcpwright/mcp/generated/skills"
)

// maxFrontmatter limits the bytes of front matter.
const maxFrontmatter = 64 << 10

// ParseFrontmatter returns the front matter of a SKILL.md file. An error contains the line.
func ParseFrontmatter(file []byte) (*skills.SkillFrontmatter, error) {
	text, err := cutFrontmatter(file)
	if err != nil {
		return nil, err
	}
	fields, err := parseYAML(text, 2)
	if err != nil {
		return nil, fmt.Errorf("invalid front matter: %w", err)
	}
	f := new(skills.SkillFrontmatter)
	for name, to := range map[string]*string{"name": &f.Name, "description": &f.Description} {
		value, has := fields[name]
		text, ok := value.(string)
		switch {
		case !has:
			return nil, fmt.Errorf("invalid front matter: no %q", name)
		case !ok:
			return nil, fmt.Errorf("invalid front matter: %q is not a string; quote it", name)
		}
		*to = text
		delete(fields, name)
	}
	for name, value := range fields {
		raw, err := marshal(value)
		if err != nil {
			return nil, fmt.Errorf("invalid front matter: encode %q: %w", name, err)
		}
		if f.Extra == nil {
			f.Extra = make(map[string]json.RawMessage)
		}
		f.Extra[name] = raw
	}
	return f, nil
}

// marshal encodes a value without escaping the characters of HTML.
func marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

// cutFrontmatter returns the text between the lines "---" at the beginning of a file.
func cutFrontmatter(file []byte) (string, error) {
	if !utf8.Valid(file) {
		return "", errors.New("file is not UTF-8")
	}
	file = bytes.TrimPrefix(file, []byte("\ufeff"))
	first, rest, _ := strings.Cut(string(file[:min(len(file), maxFrontmatter)]), "\n")
	if strings.TrimRight(first, " \t\r") != "---" {
		return "", errors.New(`no front matter: the first line of the file is not "---"`)
	}
	for at := 0; at < len(rest); {
		line, _, more := strings.Cut(rest[at:], "\n")
		if strings.TrimRight(line, " \t\r") == "---" {
			text := rest[:at]
			if i := strings.IndexFunc(text, isControl); i >= 0 {
				return "", fmt.Errorf("invalid front matter: control character %q", text[i])
			}
			return text, nil
		}
		if !more {
			break
		}
		at += len(line) + 1
	}
	if len(file) > maxFrontmatter {
		return "", fmt.Errorf(`no line "---" ends the front matter in the first %d bytes`, maxFrontmatter)
	}
	return "", errors.New(`no line "---" ends the front matter`)
}

func isControl(c rune) bool {
	return c < ' ' && c != '\n' && c != '\r' && c != '\t' || c == 0x7f
}

// CheckFrontmatter checks the rules for the values of front matter.
func CheckFrontmatter(f *skills.SkillFrontmatter) error {
	if err := CheckName(f.Name); err != nil {
		return err
	}
	if n := utf8.RuneCountInString(f.Description); strings.TrimSpace(f.Description) == "" || n > 1024 {
		return fmt.Errorf("description has %d characters, want 1 to 1024", n)
	}
	return nil
}

// CheckName checks the name of a skill.
func CheckName(name string) error {
	valid := name != "" && len(name) <= 64 && name[0] != '-' && name[len(name)-1] != '-' && !strings.Contains(name, "--")
	for i := 0; valid && i < len(name); i++ {
		c := name[i]
		valid = c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-'
	}
	if !valid {
		return fmt.Errorf("invalid name %q: want 1 to 64 of a-z, 0-9 and single hyphens between them", clip(name))
	}
	return nil
}

// DifferentField returns a field in which two front matters differ, or the empty string.
func DifferentField(a, b *skills.SkillFrontmatter) string {
	switch {
	case a.Name != b.Name:
		return "name"
	case a.Description != b.Description:
		return "description"
	}
	for name, value := range a.Extra {
		if other, has := b.Extra[name]; !has || !equalJSON(value, other) {
			return name
		}
	}
	for name := range b.Extra {
		if _, has := a.Extra[name]; !has {
			return name
		}
	}
	return ""
}

// equalJSON reports whether two texts have the same value.
func equalJSON(a, b json.RawMessage) bool {
	x, err := decodeJSON(a)
	if err != nil {
		return false
	}
	y, err := decodeJSON(b)
	return err == nil && reflect.DeepEqual(x, y)
}

// decodeJSON returns a value in which equal numbers are identical.
func decodeJSON(raw json.RawMessage) (any, error) {
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err := d.Decode(&v)
	return withNumbers(v), err
}

// withNumbers replaces the texts of numbers by numbers, except for integers that a float64 cannot
// represent.
func withNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		f, err := v.Float64()
		if n, ierr := v.Int64(); err != nil || ierr == nil && int64(f) != n {
			return v
		}
		return f
	case []any:
		for i := range v {
			v[i] = withNumbers(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = withNumbers(v[name])
		}
	}
	return v
}
