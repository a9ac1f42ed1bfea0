package connection

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/headers"
	"github.com/mcpwright/mcp/runtime/internal/loglevel"
	"github.com/mcpwright/mcp/runtime/internal/paramheader"
	"github.com/mcpwright/mcp/runtime/internal/revisions"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Metadata is the message metadata of a request in a stateless revision: the members of its
// "_meta" that describe the sender.
type Metadata struct {
	// Revision is the revision of the request.
	Revision wire.Revision
	// LogLevel is the minimum level of the log messages for the sender. It is empty if the
	// request has no level or an unknown one: the sender receives no log messages then.
	LogLevel mcp.LoggingLevel
	// Meta is the complete "_meta" as received.
	Meta json.RawMessage
}

// Sender decodes the name and the capabilities of the client. Each is nil if it is missing, or
// if it is not valid in the revision.
func (m *Metadata) Sender() (*mcp.Implementation, *mcp.ClientCapabilities) {
	var c clientReader
	decodeParams(m.Meta, m.Revision, &c)
	return c.info, c.caps
}

// ReadMetadata validates the message metadata of a request and returns it. The error describes
// the first of these failures: required members are missing; a header is missing or differs from
// the body; the revision is not a string; the revision is not one of served. ReadMetadata
// validates neither the method nor the other params.
//
// The params have been accepted by a decoder before. If header is not nil, it must repeat the
// revision, the method and the name. Transports without headers pass nil. The error is or wraps
// a [*peer.Error].
func ReadMetadata(method string, params json.RawMessage, header map[string][]string, served []wire.Revision) (*Metadata, error) {
	m := new(metadataReader)
	if err := m.readValid(method, params, header, served); err != nil {
		return nil, err
	}
	return &m.Metadata, nil
}

// metadataReader reads message metadata that has not been validated yet.
type metadataReader struct {
	wire.ReadOnly
	Metadata           // Meta is nil if it is not an object
	version     string // empty if it is not a string
	versionKind byte   // as returned by [wire.Decoder.Kind]; 0 if the version is missing
	hasCaps     bool

	nameMember string // the member of the params that a header repeats
	name       string
	hasName    bool // the member exists and is a string
}

var newestStateless = revisions.Newest(false)

// read reads the metadata in the params of a request.
func (m *metadataReader) read(params json.RawMessage) {
	if params == nil {
		return
	}
	decodeParams(params, newestStateless, m)
	if m.Meta != nil {
		m.readMeta()
	}
}

func (m *metadataReader) readMeta() { decodeParams(m.Meta, newestStateless, (*metaReader)(m)) }

// decodeParams decodes bytes that a decoder has accepted before. The reader skips members that
// it does not expect, so that decoding cannot fail.
func decodeParams(raw json.RawMessage, r wire.Revision, into wire.Params) {
	_ = wire.DecodeParams(raw, &wire.Frame{Revision: r, Checked: true}, into)
}

// DecodeParams implements [wire.Params] for the params of any request.
func (m *metadataReader) DecodeParams(d *wire.Decoder) {
	if m.nameMember != "" {
		name, kind := d.Peek(m.nameMember)
		m.name, m.hasName = string([]byte(name)), kind == '"'
	}
	for o := d.Object(paramsMembers); o.Next(); {
		if o.Name == "_meta" && d.Kind() == '{' {
			m.Meta = d.RawObject()
		} else {
			d.Skip()
		}
	}
}

var (
	paramsMembers = wire.NewMembers("params", wire.Member{Name: "_meta", In: wire.Always})
	metaMembers   = wire.NewMembers("_meta",
		wire.Member{Name: revisions.KeyCapabilities, In: wire.Always},
		wire.Member{Name: revisions.KeyInfo, In: wire.Always},
		wire.Member{Name: revisions.KeyLogLevel, In: wire.Always},
		wire.Member{Name: revisions.KeyVersion, In: wire.Always},
	)
)

// metaReader reads the "_meta" of a metadataReader.
type metaReader metadataReader

// DecodeParams implements [wire.Params].
func (m *metaReader) DecodeParams(d *wire.Decoder) {
	text, kind := d.Peek(revisions.KeyVersion)
	m.version, m.versionKind = revisionName(text), kind
	for o := d.Object(metaMembers); o.Next(); {
		switch o.Name {
		case revisions.KeyCapabilities:
			m.hasCaps = true
			d.Skip()
		case revisions.KeyLogLevel:
			if level := mcp.LoggingLevel(stringOrSkip(d)); loglevel.Valid(level) {
				m.LogLevel = level
			}
		default:
			d.Skip()
		}
	}
}

// revisionName copies the name of a revision. It does not allocate for known revisions.
func revisionName(text string) string {
	if r, known := mcp.ParseRevision(text); known {
		return r.String()
	}
	return string([]byte(text))
}

// stringOrSkip reads a string, or skips a value of another kind.
func stringOrSkip(d *wire.Decoder) string {
	if d.Kind() != '"' {
		d.Skip()
		return ""
	}
	return d.String()
}

// clientReader reads the name and the capabilities of the client from a "_meta".
type clientReader struct {
	wire.ReadOnly
	info *mcp.Implementation
	caps *mcp.ClientCapabilities
}

// DecodeParams implements [wire.Params].
func (c *clientReader) DecodeParams(d *wire.Decoder) {
	for o := d.Object(metaMembers); o.Next(); {
		switch o.Name {
		case revisions.KeyCapabilities:
			c.caps = readOrSkip[mcp.ClientCapabilities](d)
		case revisions.KeyInfo:
			c.info = readOrSkip[mcp.Implementation](d)
		default:
			d.Skip()
		}
	}
}

// readOrSkip reads a T, or skips an invalid one and returns nil.
func readOrSkip[T any, P interface {
	*T
	wire.Value
}](d *wire.Decoder) P {
	v := P(new(T))
	if d.Try(v.DecodeJSON) {
		return v
	}
	d.Skip()
	return nil
}

// readValid reads the metadata and validates it, see [ReadMetadata].
func (m *metadataReader) readValid(method string, params json.RawMessage, header peer.Header, served []wire.Revision) error {
	if info := mcp.MethodByName(method); header != nil && info != nil {
		m.nameMember = info.NameMember
	}
	if m.Meta == nil {
		m.read(params)
	} else {
		m.readMeta()
	}
	if err := m.checkMembers(); err != nil {
		return err
	}
	if header != nil {
		if err := m.checkHeaders(method, header); err != nil {
			return err
		}
	}
	if m.versionKind != '"' {
		return invalidParams(fmt.Errorf("%q is not a string", revisions.KeyVersion))
	}
	return m.setRevision(served)
}

// checkMembers checks that the required members exist.
func (m *metadataReader) checkMembers() error {
	var missing []string
	if m.versionKind == 0 {
		missing = append(missing, fmt.Sprintf("%q", revisions.KeyVersion))
	}
	if !m.hasCaps {
		missing = append(missing, fmt.Sprintf("%q", revisions.KeyCapabilities))
	}
	if missing == nil {
		return nil
	}
	what := `"_meta" lacks `
	if m.Meta == nil {
		what = `"_meta" is not an object with `
	}
	return invalidParams(errors.New(what + strings.Join(missing, " and ")))
}

// setRevision sets the revision if it is one of the served ones.
func (m *metadataReader) setRevision(served []wire.Revision) error {
	for _, r := range served {
		if r.String() == m.version && !revisions.Handshake(r) {
			m.Revision = r
			return nil
		}
	}
	return &mcp.UnsupportedProtocolVersionError{Requested: m.version, Supported: revisions.Names(served)}
}

// checkHeaders checks that the headers repeat the body.
func (m *metadataReader) checkHeaders(method string, header peer.Header) error {
	if err := checkHeader(header, headers.ProtocolVersion, m.version, "version"); err != nil {
		return err
	}
	if m.versionKind != '"' {
		return differs(headers.ProtocolVersion, "version")
	}
	if err := checkHeader(header, headers.Method, method, "method"); err != nil {
		return err
	}
	if !m.hasName {
		return nil
	}
	return checkNameHeader(m.name, m.nameMember, header)
}

// checkMessageHeaders is checkHeaders for a request that has been decoded into msg and has valid
// metadata.
func checkMessageHeaders(in *peer.Inbound, msg peer.Message, version string, header peer.Header) error {
	if err := checkHeader(header, headers.ProtocolVersion, version, "version"); err != nil {
		return err
	}
	if err := checkHeader(header, headers.Method, in.Method, "method"); err != nil {
		return err
	}
	var own string // the name of a program's own message
	if named, ok := msg.(peer.Named); ok {
		if own = named.NameMember(); own != "" && checkNameHeader(own, "", header) == nil {
			return nil
		}
	}
	info := mcp.MethodByName(in.Method)
	switch {
	case info == nil || info.NameMember == "":
		return nil
	case own != "":
		return checkNameHeader(own, info.NameMember, header)
	}
	name, kind := wire.Peek(in.Params, info.NameMember)
	if kind != '"' {
		return nil
	}
	return checkNameHeader(name, info.NameMember, header)
}

// checkHeader checks that a header repeats a text of the body.
func checkHeader(header peer.Header, name, text, what string) error {
	if got, err := singleValue(header, name); err != nil {
		return err
	} else if got != text {
		return differs(name, what)
	}
	return nil
}

func differs(header, what string) error {
	return headerMismatch("header %s does not repeat the %s of the body", header, what)
}

// checkNameHeader checks that the header Mcp-Name repeats a name of the body. The member is the
// name's member in the params, or empty for the name of an extension's message.
func checkNameHeader(name, member string, header peer.Header) error {
	text, err := singleValue(header, headers.Name)
	if err != nil {
		return err
	}
	if got, err := paramheader.Decode(text); err != nil {
		return headerMismatch("header %s: %v", headers.Name, err)
	} else if got == name {
		return nil
	}
	if member == "" {
		return headerMismatch("header %s does not repeat the name %q of the body", headers.Name, name)
	}
	return headerMismatch("header %s does not repeat the member %q of the body", headers.Name, member)
}

// singleValue returns the value of a header that must have exactly one. The name has the
// canonical form.
func singleValue(header peer.Header, name string) (string, error) {
	switch values := header[name]; len(values) {
	case 0:
		return "", headerMismatch("header %s is missing", name)
	case 1:
		return strings.Trim(values[0], " \t"), nil
	}
	return "", headerMismatch("header %s occurs more than once", name)
}

func headerMismatch(format string, args ...any) error {
	return &peer.Error{Code: mcp.CodeHeaderMismatch, Message: "Header mismatch: " + fmt.Sprintf(format, args...)}
}

// paramsOf returns the params of a message as they are in its JSON. If the message is passed in
// process, it encodes them.
func paramsOf(in *peer.Inbound) json.RawMessage {
	if in.Value == nil {
		return in.Params
	}
	raw, err := wire.AppendParams(nil, revisions.Frame(newestStateless), in.Value)
	if err != nil {
		return nil // decoding the message returns the error
	}
	return raw
}

// namedRevision returns the revision that the metadata of a message names. Found reports whether
// the metadata has the member at all: that is sufficient to treat a request as stateless, so
// that incomplete metadata is reported to the sender.
func namedRevision(in *peer.Inbound) (name string, found bool) {
	return revisions.InMetadata(paramsOf(in))
}
