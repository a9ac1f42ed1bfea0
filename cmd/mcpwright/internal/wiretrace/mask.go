package wiretrace

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// masked replaces a secret.
const masked = "***"

// Mask replaces secrets in messages:
//
//   - strings that are the value of a member with a secret name, see [Mask.SecretName]
//   - tokens after "Bearer", and credentials and secret query parameters of URLs, in any
//     string
//   - given values, such as variables of the environment, wherever they occur
type Mask struct {
	values [][]byte
	names  []string
}

// NewMask returns a mask that also replaces values, see [Mask.AddValues].
func NewMask(values ...string) *Mask {
	m := &Mask{}
	m.AddValues(values...)
	return m
}

// AddNames adds names of secrets, in any case.
func (m *Mask) AddNames(names ...string) {
	for _, name := range names {
		if name = plainName(name); name != "" {
			m.names = append(m.names, name)
		}
	}
}

// AddValues adds values to replace. Values of less than 4 bytes are not replaced.
func (m *Mask) AddValues(values ...string) {
	for _, v := range values {
		if len(v) < 4 {
			continue
		}
		m.values = append(m.values, []byte(v))
		if quoted, err := json.Marshal(v); err == nil && string(quoted) != `"`+v+`"` {
			m.values = append(m.values, quoted[1:len(quoted)-1])
		}
	}
	slices.SortFunc(m.values, func(a, b []byte) int { return len(b) - len(a) }) // a value may contain another
}

// secretNames are names of secrets, and ends of such names.
var secretNames = []string{
	"token", "secret", "password", "passwd", "passphrase", "apikey", "privatekey", "accesskey", "secretkey", "credential", "credentials",
	"authorization", "cookie", "codeverifier", "assertion",
}

// publicNames end like a secret name.
var publicNames = []string{"progresstoken", "pagetoken", "nexttoken", "continuationtoken", "cancellationtoken", "synctoken"}

// plainName returns a name without case and the characters between words.
func plainName(name string) string { return strings.ToLower(separators.Replace(name)) }

var separators = strings.NewReplacer("-", "", "_", "", ".", "", " ", "")

// SecretName reports whether a member, a header, a parameter or a variable with the name
// has a secret. Case and the characters between words do not matter.
func (m *Mask) SecretName(name string) bool {
	name = plainName(name)
	ends := func(end string) bool { return strings.HasSuffix(name, end) }
	return slices.Contains(m.names, name) || slices.ContainsFunc(secretNames, ends) && !slices.ContainsFunc(publicNames, ends)
}

// Patterns of secrets in a text.
var (
	bearer      = regexp.MustCompile(`(?i)\b(bearer\s+)[A-Za-z0-9._~+/=-]{8,}`)
	parameter   = regexp.MustCompile(`(^|[?&;#])([A-Za-z0-9_.-]+)=([^&#\s"'\\<>]+)`)
	credentials = regexp.MustCompile(`(://)[^/\s"'\\@?#]+@`)
)

// text replaces the secrets in a text, which may contain JSON escapes.
func (m *Mask) text(b []byte) []byte {
	for _, v := range m.values {
		if bytes.Contains(b, v) {
			b = bytes.ReplaceAll(b, v, []byte(masked))
		}
	}
	if bytes.Contains(b, []byte("earer")) || bytes.Contains(b, []byte("EARER")) {
		b = bearer.ReplaceAll(b, []byte("${1}"+masked))
	}
	if bytes.Contains(b, []byte("://")) {
		b = credentials.ReplaceAll(b, []byte("${1}"+masked+"@"))
	}
	if bytes.IndexByte(b, '=') >= 0 {
		b = parameter.ReplaceAllFunc(b, func(found []byte) []byte {
			name, _, _ := bytes.Cut(found, []byte{'='})
			if bare := strings.TrimLeft(string(name), "?&;#"); !m.SecretName(bare) && bare != "code" {
				return found
			}
			return slices.Concat(name, []byte("="+masked))
		})
	}
	return b
}

// String replaces the secrets in a text that is not JSON, such as a URL.
func (m *Mask) String(s string) string { return string(m.text([]byte(s))) }

// Words replaces the secrets in the words of a command line: also values of flags with a
// secret name.
func (m *Mask) Words(words []string) []string {
	words = slices.Clone(words)
	for i, word := range words {
		name, _, assigned := strings.Cut(word, "=")
		secret := m.SecretName(strings.TrimLeft(name, "-"))
		switch {
		case secret && assigned:
			words[i] = name + "=" + masked
		case secret && strings.HasPrefix(word, "-") && i+1 < len(words):
			words[i+1] = masked
		default:
			words[i] = m.String(words[i])
		}
	}
	return words
}

// Bytes returns a message without secrets. The message may be invalid or clipped.
func (m *Mask) Bytes(raw []byte) []byte {
	s := scanner{mask: m, in: raw}
	for s.at < len(raw) {
		s.next()
	}
	if s.out == nil {
		return raw
	}
	return append(s.out, raw[s.copied:]...)
}

// scanner replaces the secrets in JSON.
type scanner struct {
	mask   *Mask
	in     []byte
	at     int
	out    []byte // nil before the first secret
	copied int    // bytes of in that are in out

	secret bool // the last member has a secret name
	depth  int  // of the arrays in the value of such a member
}

// next reads a string or another byte.
func (s *scanner) next() {
	c := s.in[s.at]
	if c == '"' {
		s.quoted()
		return
	}
	s.at++
	switch {
	case c == '[' && s.secret:
		s.depth++
	case c == ']' && s.depth > 0:
		s.depth--
		s.secret = s.depth > 0
	case c == '{':
		s.secret, s.depth = false, 0
	case c == ',' && s.depth == 0:
		s.secret = false
	}
}

// quoted reads a string: the name of a member, or a value.
func (s *scanner) quoted() {
	start := s.at + 1
	end := endOfString(s.in, start)
	s.at = min(end+1, len(s.in))
	content := s.in[start:end]
	after := s.at
	for after < len(s.in) && (s.in[after] == ' ' || s.in[after] == '\t' || s.in[after] == '\n' || s.in[after] == '\r') {
		after++
	}
	if after < len(s.in) && s.in[after] == ':' {
		s.secret, s.depth = s.mask.SecretName(string(content)), 0
		s.at = after + 1
		return
	}
	clean := []byte(masked)
	if !s.secret || len(content) == 0 {
		clean = s.mask.text(content)
	}
	if !bytes.Equal(clean, content) {
		s.out = append(append(s.out, s.in[s.copied:start]...), clean...)
		s.copied = end
	}
}

// endOfString returns the index of the quote that ends a string, or the length of b.
func endOfString(b []byte, i int) int {
	for i < len(b) {
		next := bytes.IndexAny(b[i:], `"\`)
		if next < 0 {
			break
		}
		if i += next; b[i] == '"' {
			return i
		}
		i += 2
	}
	return len(b)
}
