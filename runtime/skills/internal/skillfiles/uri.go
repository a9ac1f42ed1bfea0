package skillfiles

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

const (
	// Scheme begins the URIs of skills that a server publishes.
	Scheme = "skill://"
	// Manifest is the name of the file that describes a skill.
	Manifest = "SKILL.md"
)

// URI returns the URI of a path. The path is valid for [fs.ValidPath], and not ".".
func URI(p string) string {
	b := []byte(Scheme)
	for i := range len(p) {
		c := p[i]
		if c == '/' || isUnreserved(c) {
			b = append(b, c)
		} else {
			b = fmt.Appendf(b, "%%%02X", c)
		}
	}
	return string(b)
}

// isUnreserved reports whether a byte is never escaped in a URI.
func isUnreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

// CheckPath checks that a path is relative, stays below its root, and is safe on all systems.
func CheckPath(p string) error {
	switch {
	case p == "." || !fs.ValidPath(p) || !utf8.ValidString(p):
		return fmt.Errorf("invalid path %q", clip(p))
	case strings.ContainsFunc(p, func(c rune) bool { return c < ' ' || c == 0x7f || c == '\\' }):
		return fmt.Errorf("invalid path %q: control characters and backslashes are not allowed", clip(p))
	}
	return nil
}

// Root is the directory of a skill.
type Root struct {
	uri string // ends with "/"
}

// uriForm is compiled when it is first needed, because most programs have no skills.
var uriForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://([^/?#]*)/([^?#]+)$`)
})

// ParseRoot returns the directory of a skill with the URI of its SKILL.md file. The last segment of
// the directory must be the name of the skill.
func ParseRoot(uri, name string) (Root, error) {
	form := uriForm().FindStringSubmatch(uri)
	dir, ok := strings.CutSuffix(uri, "/"+Manifest)
	if form == nil || !ok {
		return Root{}, fmt.Errorf("URI %q has not the form %q", clip(uri), "skill://path/"+Manifest)
	}
	if form[1] != "" { // file URIs have no authority
		if _, err := unescape(form[1]); err != nil {
			return Root{}, err
		}
	}
	if _, err := unescape(form[2]); err != nil {
		return Root{}, err
	}
	if last := dir[strings.LastIndexByte(dir, '/')+1:]; last != name {
		return Root{}, fmt.Errorf("the last segment of the skill's path is %q, but its name is %q", clip(last), clip(name))
	}
	return Root{dir + "/"}, nil
}

// unescape returns the path in a URI. It checks that no segment is empty or leads to another
// directory, also after escape sequences are decoded.
func unescape(escaped string) (string, error) {
	segments := strings.Split(escaped, "/")
	for i, s := range segments {
		text, err := url.PathUnescape(s)
		if err != nil {
			return "", err
		}
		if strings.Contains(text, "/") {
			return "", fmt.Errorf("invalid segment %q in URI", clip(s))
		}
		if err := CheckPath(text); err != nil {
			return "", fmt.Errorf("invalid segment %q in URI: %w", clip(s), err)
		}
		segments[i] = text
	}
	return strings.Join(segments, "/"), nil
}

// Path returns the path of a file relative to the skill, from the URI of the file.
func (r Root) Path(uri string) (string, error) {
	rest, ok := strings.CutPrefix(uri, r.uri)
	switch {
	case !ok:
		return "", errors.New("URI is outside of the skill")
	case strings.ContainsAny(rest, "?#"):
		return "", errors.New("URI has a query or a fragment")
	}
	return unescape(rest)
}

// Files returns the URIs of files by their path relative to the skill.
func (r Root) Files(uris []string) (map[string]string, error) {
	files := make(map[string]string, len(uris))
	for _, uri := range uris {
		p, err := r.Path(uri)
		if err != nil {
			return nil, fmt.Errorf("file %q: %w", uri, err)
		}
		if _, has := files[p]; has {
			return nil, fmt.Errorf("file %q is listed more than once", uri)
		}
		files[p] = uri
	}
	for p := range files {
		for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
			if _, has := files[dir]; has {
				return nil, fmt.Errorf("%q is both a file and a directory", dir)
			}
		}
	}
	return files, nil
}

// URI returns the URI of a path that is relative to the skill.
func (r Root) URI(p string) string { return r.uri + strings.TrimPrefix(URI(p), Scheme) }
