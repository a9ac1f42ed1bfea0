package connection

import (
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
)

var extensionName = func() *regexp.Regexp {
	const label = `[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?`
	return regexp.MustCompile(`^` + label + `(?:\.` + label + `)*/(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?$`)
}()

// CheckExtensions judges the identifiers of the extensions that an end declares:
// each has a prefix, such as "com.example/".
func CheckExtensions[T any](extensions map[string]T) error {
	for name := range extensions {
		if !extensionName.MatchString(name) {
			return fmt.Errorf("extension %q: want an identifier with a prefix, such as %q", name, "com.example/name")
		}
	}
	return nil
}

// methodOf returns what the protocol has to say about the method of a message, nil
// where the message is not the protocol's.
func methodOf(m peer.Message) *peer.MethodInfo {
	if _, is := m.(peer.Extension); is {
		return nil
	}
	return mcp.MethodByName(m.Method())
}

// needExtension checks that the peer declared an extension in whose place nothing
// else will do.
func (d door) needExtension(method, extension string) error {
	r := d.facts.revision
	if handshake(r) {
		return &UnsupportedError{Method: method, Revision: r}
	}
	path := "extensions." + extension
	if d.conn.client {
		have := d.facts.server
		if have == nil {
			return nil
		}
		if _, has := have.Extensions[extension]; !has {
			return &CapabilityError{Method: method, Capability: path, Revision: r}
		}
		return nil
	}
	want := &mcp.ClientCapabilities{Extensions: map[string]map[string]json.RawMessage{extension: {}}}
	if d.conn.HasClientCapability(want) {
		return nil
	}
	return &CapabilityError{Method: method, Capability: path, Required: want, Revision: r}
}
