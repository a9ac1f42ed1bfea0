package connection

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"strings"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/eras"
	"github.com/mcpwright/mcp/runtime/internal/paramheader"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// The headers that repeat what a request's body says.
const (
	HeaderVersion = "Mcp-Protocol-Version"
	HeaderMethod  = "Mcp-Method"
	HeaderName    = "Mcp-Name"
)

// ReadMetadata judges a request that has to say itself who sends it, and returns
// what it says. The first failure decides: an incomplete envelope, headers that
// say something else than the body, a version that is no string, a version that
// is not among the served ones. Whether the method exists, and whether its
// params are right, is not judged here.
//
// The params have been accepted by a decoder. The header is nil on transports
// without headers; where it is not, it must repeat version, method and name. The
// error is, or wraps, a [*peer.Error].
func ReadMetadata(method string, params json.RawMessage, header http.Header, served []wire.Revision) (*Metadata, error) {
	l := new(letter)
	if err := l.classify(method, params, header, served); err != nil {
		return nil, err
	}
	return &l.Metadata, nil
}

func (l *letter) classify(method string, params json.RawMessage, header http.Header, served []wire.Revision) error {
	if info := mcp.MethodByName(method); header != nil && info != nil {
		l.nameMember = info.NameMember
	}
	if l.Meta == nil {
		l.read(params)
	} else {
		l.readMeta()
	}
	if err := l.complete(); err != nil {
		return err
	}
	if header != nil {
		if err := l.repeated(method, header); err != nil {
			return err
		}
	}
	if l.versionKind != '"' {
		return invalidParams(fmt.Errorf("%q is not a string", eras.KeyVersion))
	}
	return l.find(served)
}

// complete checks that the envelope has the members that it must have.
func (l *letter) complete() error {
	var missing []string
	if l.versionKind == 0 {
		missing = append(missing, fmt.Sprintf("%q", eras.KeyVersion))
	}
	if !l.hasCaps {
		missing = append(missing, fmt.Sprintf("%q", eras.KeyCapabilities))
	}
	if missing == nil {
		return nil
	}
	what := `"_meta" lacks `
	if l.Meta == nil {
		what = `"_meta" is no object with `
	}
	return invalidParams(errors.New(what + strings.Join(missing, " and ")))
}

// repeated checks that the headers repeat what is in order in itself and has been
// read into m.
func repeated(in *peer.Inbound, m peer.Message, version string, header http.Header) error {
	if err := repeats(header, HeaderVersion, version, "version"); err != nil {
		return err
	}
	if err := repeats(header, HeaderMethod, in.Method, "method"); err != nil {
		return err
	}
	var own string
	if named, ok := m.(peer.Named); ok {
		if own = named.NameMember(); own != "" && nameRepeated(own, "", header) == nil {
			return nil
		}
	}
	info := mcp.MethodByName(in.Method)
	switch {
	case info == nil || info.NameMember == "":
		return nil
	case own != "":
		return nameRepeated(own, info.NameMember, header)
	}
	name, kind := wire.Peek(in.Params, info.NameMember)
	if kind != '"' {
		return nil
	}
	return nameRepeated(name, info.NameMember, header)
}

// repeated checks that the headers repeat the body.
func (l *letter) repeated(method string, header http.Header) error {
	if err := repeats(header, HeaderVersion, l.version, "version"); err != nil {
		return err
	}
	if l.versionKind != '"' {
		return notRepeated(HeaderVersion, "version")
	}
	if err := repeats(header, HeaderMethod, method, "method"); err != nil {
		return err
	}
	if !l.hasName {
		return nil
	}
	return nameRepeated(l.name, l.nameMember, header)
}

// repeats checks that a header repeats what the body says.
func repeats(header http.Header, name, text, what string) error {
	if got, err := single(header, name); err != nil {
		return err
	} else if got != text {
		return notRepeated(name, what)
	}
	return nil
}

func notRepeated(header, what string) error {
	return mismatch("header %s does not repeat the %s of the body", header, what)
}

// nameRepeated checks that the header repeats a name in the body, that of a member
// or, without one, that which an extension has.
func nameRepeated(name, member string, header http.Header) error {
	text, err := single(header, HeaderName)
	if err != nil {
		return err
	}
	if got, err := paramheader.Decode(text); err != nil {
		return mismatch("header %s: %v", HeaderName, err)
	} else if got == name {
		return nil
	}
	if member == "" {
		return mismatch("header %s does not repeat the name %q of the body", HeaderName, name)
	}
	return mismatch("header %s does not repeat the member %q of the body", HeaderName, member)
}

// single returns the value of a header that is there once. The name is in its
// canonical form.
func single(header http.Header, name string) (string, error) {
	switch values := header[name]; len(values) {
	case 0:
		return "", mismatch("header %s is missing", name)
	case 1:
		return textproto.TrimString(values[0]), nil
	}
	return "", mismatch("header %s is there twice", name)
}

// find finds the revision among the served ones.
func (l *letter) find(served []wire.Revision) error {
	for _, r := range served {
		if r.String() == l.version && !handshake(r) {
			l.Revision = r
			return nil
		}
	}
	return &mcp.UnsupportedProtocolVersionError{Requested: l.version, Supported: names(served)}
}

func names(revisions []wire.Revision) []string {
	names := make([]string, len(revisions))
	for i, r := range revisions {
		names[i] = r.String()
	}
	return names
}

func mismatch(format string, args ...any) error {
	return &peer.Error{Code: mcp.CodeHeaderMismatch, Message: "Header mismatch: " + fmt.Sprintf(format, args...)}
}

func invalidParams(err error) *peer.Error {
	return &peer.Error{Code: mcp.CodeInvalidParams, Message: "Invalid params: " + err.Error()}
}
