package connection

import (
	"encoding/json"
	"fmt"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/capabilities"
	"github.com/mcpwright/mcp/runtime/internal/revisions"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Check reports why a request must not be sent to the peer: the peer did not declare a required
// capability, or the request is invalid. Sending a request includes this check. Check is for
// requests that are sent in another way, in the result of a request for example.
func (c *Connection) Check(req peer.Message) error {
	_, err := checker{c, c.state.snapshot()}.check(req, methodOf(req))
	return err
}

// checker checks messages before they are sent.
type checker struct {
	conn  *Connection
	facts *facts // when sending began
}

// responseCheck is the check of the response to a request.
type responseCheck struct {
	form *mcp.RequestedSchema // for the content of an accepted elicitation; nil for other requests
}

// methodOf returns the protocol's description of the method of a message, or nil if the message
// is not part of the protocol.
func methodOf(m peer.Message) *peer.MethodInfo {
	if _, ok := m.(peer.Extension); ok {
		return nil
	}
	return mcp.MethodByName(m.Method())
}

// check checks the capability of a request, and its params.
func (c checker) check(req peer.Message, info *peer.MethodInfo) (responseCheck, error) {
	if err := c.checkMethod(req.Method(), info); err != nil {
		return responseCheck{}, err
	}
	return c.checkParams(req)
}

// checkMethod checks the capability that the method requires.
func (c checker) checkMethod(method string, info *peer.MethodInfo) error {
	if info == nil || info.Capability == "" {
		return nil
	}
	if !c.conn.client {
		return c.requireClient(method, info.Capability)
	}
	server, r := c.facts.server, c.facts.revision
	if c.conn.strict && server != nil && capabilities.Declarable(info.Capability, r) && !capabilities.ServerHas(server, info.Capability) {
		return &CapabilityError{Method: method, Capability: info.Capability, Revision: r}
	}
	return nil
}

// requireClient checks a capability of the client.
func (c checker) requireClient(method, path string) error {
	want := capabilities.OfClient(path)
	if c.conn.HasClientCapability(want) {
		return nil
	}
	return &CapabilityError{Method: method, Capability: path, Required: want, Revision: c.facts.revision}
}

// requireExtension checks that the peer declared the extension of a message. Clients need not
// declare an extension that only servers declare.
func (c checker) requireExtension(m peer.Extension) error {
	extension := m.Extension()
	lack := &CapabilityError{Method: m.Method(), Capability: "extensions." + extension, Revision: c.facts.revision}
	if c.conn.client {
		if c.facts.server == nil || capabilities.ServerHasExtension(c.facts.server, extension) {
			return nil
		}
		return lack
	}
	if _, ok := m.(peer.ServerExtension); ok {
		return nil
	}
	lack.Required = &mcp.ClientCapabilities{Extensions: map[string]map[string]json.RawMessage{extension: {}}}
	if c.conn.HasClientCapability(lack.Required) {
		return nil
	}
	return lack
}

// declared reports whether the capability that a notification requires was declared, by the end
// that declares it. Capabilities of this end that are unknown here count as declared.
func (c checker) declared(path string) bool {
	want := capabilities.OfClient(path)
	switch {
	case want == nil:
		return c.facts.server == nil || capabilities.ServerHas(c.facts.server, path)
	case c.conn.client && c.conn.state.ClientCapabilities() == nil:
		return true
	}
	return c.conn.HasClientCapability(want)
}

// checkParams checks the params of a server's request. It converts a type of the caller to the
// protocol's type of the method.
func (c checker) checkParams(req peer.Message) (responseCheck, error) {
	if c.conn.client {
		return responseCheck{}, nil
	}
	switch req.Method() {
	case mcp.MethodCreateMessage:
		m, err := convert[mcp.CreateMessageRequest](req, c.facts.revision)
		if err != nil {
			return responseCheck{}, err
		}
		return responseCheck{}, c.checkSampling(m)
	case mcp.MethodElicit:
		m, err := convert[mcp.ElicitRequest](req, c.facts.revision)
		if err != nil {
			return responseCheck{}, err
		}
		return c.checkElicit(m)
	}
	return responseCheck{}, nil
}

// convert returns req as a T. It encodes and decodes a request of another type.
func convert[T any, P interface {
	*T
	peer.Message
}](req peer.Message, r wire.Revision) (P, error) {
	if m, ok := req.(P); ok {
		return m, nil
	}
	raw, err := wire.AppendParams(nil, revisions.Frame(r), req)
	if err != nil {
		return nil, err
	}
	m := P(new(T))
	if err := wire.DecodeParams(raw, &wire.Frame{Revision: r, Checked: true}, m); err != nil {
		return nil, &InvalidError{Method: req.Method(), Err: err}
	}
	return m, nil
}

// checkSampling checks the capabilities that a sampling request requires, and its messages.
func (c checker) checkSampling(req *mcp.CreateMessageRequest) error {
	method := req.Method()
	if req.Tools != nil || req.ToolChoice != nil {
		if err := c.requireClient(method, "sampling.tools"); err != nil {
			return err
		}
	}
	// Clients of earlier revisions cannot declare this capability.
	declares := c.facts.revision.Index() >= mcp.Revision20251125.Index()
	if declares && req.IncludeContext != "" && req.IncludeContext != mcp.IncludeContextNone {
		if err := c.requireClient(method, "sampling.context"); err != nil {
			return err
		}
	}
	if req.Task != nil {
		if err := c.requireClient(method, "tasks.requests.sampling.createMessage"); err != nil {
			return err
		}
	}
	if err := CheckMessages(req.Messages); err != nil {
		return &InvalidError{Method: method, Err: err}
	}
	return nil
}

// checkElicit checks the capability for the mode of an elicitation, and its form or URL.
func (c checker) checkElicit(req *mcp.ElicitRequest) (responseCheck, error) {
	method := req.Method()
	switch p := req.Params.(type) {
	case *mcp.ElicitRequestFormParams:
		if err := c.requireMode(method, "elicitation.form", p.Task); err != nil {
			return responseCheck{}, err
		}
		if err := CheckForm(&p.RequestedSchema); err != nil {
			return responseCheck{}, &InvalidError{Method: method, Err: err}
		}
		return responseCheck{form: &p.RequestedSchema}, nil
	case *mcp.ElicitRequestURLParams:
		if err := c.requireMode(method, "elicitation.url", p.Task); err != nil {
			return responseCheck{}, err
		}
		if err := checkURL(p, c.facts.revision); err != nil {
			return responseCheck{}, &InvalidError{Method: method, Err: err}
		}
	case *mcp.UnknownElicitRequestParams:
		return c.checkUnknownElicit(method, p)
	}
	return responseCheck{}, nil
}

// checkUnknownElicit checks params that were decoded without a known type, if they have one in
// this revision.
func (c checker) checkUnknownElicit(method string, p *mcp.UnknownElicitRequestParams) (responseCheck, error) {
	known := new(mcp.ElicitRequest)
	if err := wire.DecodeParams(p.Raw, revisions.Frame(c.facts.revision), known); err != nil {
		return responseCheck{}, &InvalidError{Method: method, Err: err}
	}
	if _, unknown := known.Params.(*mcp.UnknownElicitRequestParams); unknown {
		err := fmt.Errorf("revision %s has no elicitation of that mode", c.facts.revision)
		return responseCheck{}, &InvalidError{Method: method, Err: err}
	}
	return c.checkElicit(known)
}

func (c checker) requireMode(method, mode string, task *mcp.TaskMetadata) error {
	if err := c.requireClient(method, mode); err != nil || task == nil {
		return err
	}
	return c.requireClient(method, "tasks.requests.elicitation.create")
}

// check checks a response.
func (c responseCheck) check(res wire.Value) error {
	got, ok := res.(*mcp.ElicitResult)
	if c.form == nil || !ok || got.Action != mcp.ElicitActionAccept {
		return nil
	}
	if err := CheckContent(c.form, got.Content); err != nil {
		return &InvalidError{Method: mcp.MethodElicit, Answer: true, Err: err}
	}
	return nil
}
