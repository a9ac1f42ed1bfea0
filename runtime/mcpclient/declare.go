package mcpclient

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/tasks"
)

// declare returns the capabilities that the handlers amount to.
func (o *Options) declare() mcp.ClientCapabilities {
	caps := o.Capabilities
	if o.OnElicit != nil {
		caps.Elicitation = &mcp.ElicitationCapability{Form: map[string]json.RawMessage{}}
		if o.ElicitURLs {
			caps.Elicitation.URL = map[string]json.RawMessage{}
		}
	}
	if o.OnCreateMessage != nil {
		caps.Sampling = new(mcp.SamplingCapability)
		if o.SamplingTools {
			caps.Sampling.Tools = map[string]json.RawMessage{}
		}
		if o.SamplingContext {
			caps.Sampling.Context = map[string]json.RawMessage{}
		}
	}
	if o.Roots != nil || o.OnListRoots != nil {
		caps.Roots = &mcp.RootsCapability{ListChanged: true}
	}
	if o.Tasks {
		extensions := map[string]map[string]json.RawMessage{tasks.Name: {}}
		maps.Copy(extensions, caps.Extensions)
		caps.Extensions = extensions
	}
	return caps
}

// programName is what a client calls itself that has no other name.
func programName() string {
	if exe, err := os.Executable(); err == nil {
		return filepath.Base(exe)
	}
	return "mcpclient"
}
