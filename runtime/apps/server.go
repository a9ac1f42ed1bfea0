package apps

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcpwright/mcp/generated/apps"
	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
)

// scheme is the scheme of the URIs of views.
const scheme = "ui://"

// maxFile limits the size of a view, in bytes. Clients limit the size of a message, which also
// contains the escapes of JSON.
const maxFile = 2 << 20

// View is the definition of a view.
type View struct {
	// URI identifies the view. It begins with "ui://", and contains the name of the server or of
	// the app, for example "ui://sales/chart".
	URI string
	// File is the path of an HTML document in the file system. The document is complete: hosts
	// load scripts, styles and images only from the origins in Meta.CSP, and from nowhere by
	// default. It has at most 2 MiB of UTF-8.
	File string
	// Name, Title and Description describe the view. Name is the base of the URI by default.
	Name, Title, Description string
	// Meta describes to the host how to show the view. The zero value permits no origins and
	// needs no permissions.
	Meta ResourceMeta

	server *mcpserver.Server // nil until the view is added
}

// AddView publishes a view as a resource of a server, and returns the view, to which tools can
// refer. The file is read for each request, so that a view in an [os.DirFS] can be edited while
// the server runs.
//
// AddView panics with a [*mcpserver.RegistrationError] if the definition is not valid, the file
// does not exist or is not an HTML document, or if the server has a resource with the URI.
func AddView(s *mcpserver.Server, files fs.FS, v View) *View {
	added, err := TryAddView(s, files, v)
	if err != nil {
		panic(err)
	}
	return added
}

// TryAddView is like [AddView], but returns the [*mcpserver.RegistrationError] instead of
// panicking, for views whose definitions come from elsewhere.
func TryAddView(s *mcpserver.Server, files fs.FS, v View) (*View, error) {
	err := v.add(s, files)
	if err != nil {
		if _, is := errors.AsType[*mcpserver.RegistrationError](err); !is {
			err = &mcpserver.RegistrationError{Item: mcpserver.Item{Kind: mcpserver.KindResource, Name: v.URI}, Err: err}
		}
		return nil, err
	}
	return &v, nil
}

func (v *View) add(s *mcpserver.Server, files fs.FS) error {
	if err := checkURI(v.URI); err != nil {
		return err
	}
	if s.HasResource(v.URI) {
		return errors.New("the server has a resource with this URI")
	}
	if err := checkOrigins(&v.Meta); err != nil {
		return err
	}
	if _, err := readFile(files, v.File); err != nil {
		return err
	}
	r := &mcp.Resource{URI: v.URI, Name: cmp.Or(v.Name, path.Base(v.URI)), Title: v.Title, Description: v.Description, MIMEType: MIMEType}
	if err := v.setMeta(&r.Meta); err != nil {
		return err
	}
	v.server = s
	return s.TryAddResource(r, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return v.read(files)
	})
}

// setMeta describes the view in the metadata of its resource, or of its contents. An empty
// description is omitted.
func (v *View) setMeta(m *mcp.Meta) error {
	if isZero(&v.Meta) {
		return nil
	}
	return apps.SetResourceMeta(m, &v.Meta)
}

func (v *View) read(files fs.FS) (*mcp.ReadResourceResult, error) {
	text, err := readFile(files, v.File)
	if err != nil {
		return nil, err
	}
	contents := &mcp.TextResourceContents{URI: v.URI, MIMEType: MIMEType, Text: text}
	if err := v.setMeta(&contents.Meta); err != nil {
		return nil, err
	}
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{contents}}, nil
}

// Tool returns a copy of a tool that refers to the view, for [mcpserver.AddTool] and similar
// functions. The host shows the view when the tool is called. The visibility lists the callers
// of the tool; none means the model and the view.
//
// Tool panics with a [*mcpserver.RegistrationError] if a visibility is unknown, if the metadata
// of the tool refers to a view already, or if the view is not on a server.
func (v *View) Tool(t *mcp.Tool, visibility ...ToolVisibility) *mcp.Tool {
	linked := *t
	linked.Meta = make(mcp.Meta, len(t.Meta)+1)
	for key, value := range t.Meta {
		linked.Meta[key] = value
	}
	if err := v.link(&linked.Meta, visibility); err != nil {
		panic(&mcpserver.RegistrationError{Item: mcpserver.Item{Kind: mcpserver.KindTool, Name: t.Name}, Err: err})
	}
	return &linked
}

func (v *View) link(m *mcp.Meta, visibility []ToolVisibility) error {
	if v.server == nil || !v.server.HasResource(v.URI) {
		return fmt.Errorf("the server has no view %q", v.URI)
	}
	for _, key := range []string{metaKey, legacyKey} {
		if _, has := (*m)[key]; has {
			return fmt.Errorf("metadata has the key %q already", key)
		}
	}
	if err := checkVisibility(visibility); err != nil {
		return err
	}
	return apps.SetToolMeta(m, &apps.ToolMeta{ResourceURI: v.URI, Visibility: visibility})
}

// FilterTools returns a filter for [mcpserver.Options] that hides tools from clients that do not
// show views. Use it for tools that only a view calls: other clients would show them to the model.
func FilterTools(names ...string) func(context.Context, *mcp.ServerSession, mcpserver.Item) bool {
	names = slices.Clone(names)
	return func(_ context.Context, s *mcp.ServerSession, item mcpserver.Item) bool {
		return item.Kind != mcpserver.KindTool || !slices.Contains(names, item.Name) || Supported(s)
	}
}

// Supported reports whether the client of a session shows views: it declares the extension with
// [MIMEType], and its revision has the metadata of tools.
func Supported(s *mcp.ServerSession) bool {
	caps := s.ClientCapabilities()
	if caps == nil || s.Revision().Index() < mcp.Revision20250618.Index() {
		return false
	}
	settings, declared := clientSettings(caps)
	return declared && slices.ContainsFunc(settings.MIMETypes, isViewType)
}

// checkURI checks the URI of a view.
func checkURI(uri string) error {
	if rest, has := strings.CutPrefix(uri, scheme); !has || rest == "" {
		return fmt.Errorf("URI of a view must begin with %q and a name", scheme)
	}
	_, err := url.Parse(uri)
	return err
}

func checkVisibility(list []ToolVisibility) error {
	for _, v := range list {
		if v != ToolVisibilityApp && v != ToolVisibilityModel {
			return fmt.Errorf("unknown visibility %q: want %q or %q", v, ToolVisibilityModel, ToolVisibilityApp)
		}
	}
	return nil
}

// readFile reads an HTML document. It does not read more of a file that is too large.
func readFile(files fs.FS, name string) (string, error) {
	f, err := files.Open(name)
	if err != nil {
		return "", fmt.Errorf("read view: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	var text []byte
	if err == nil {
		text, err = io.ReadAll(io.LimitReader(f, maxFile+1))
	}
	if err == nil {
		err = checkHTML(string(text))
	}
	if err != nil {
		return "", fmt.Errorf("read view: file %q: %w", name, err)
	}
	return string(text), nil
}

// checkHTML checks that a text is an HTML document. It does not parse the document.
func checkHTML(text string) error {
	const declaration = "<!doctype html"
	switch {
	case len(text) > maxFile:
		return fmt.Errorf("document has more than %d bytes", maxFile)
	case !utf8.ValidString(text):
		return errors.New("document is not UTF-8")
	case !strings.Contains(strings.ToLower(text[:min(len(text), 4096)]), declaration):
		return fmt.Errorf("document has no %q at its beginning", declaration+">")
	}
	return nil
}
