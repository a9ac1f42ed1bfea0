package mcp

import (
	"encoding/json"
	"net/http"

	"github.com/yosida95/uritemplate/v3"
)

// Resource is the definition of a resource.
type Resource struct {
	Annotated
	Meta        *Meta  `json:"_meta,omitempty"`
	URI         string `json:"uri"`
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	MIMEType    string `json:"mimeType,omitempty"`
	Icons       []Icon `json:"icons,omitempty"`
	// Size is the number of bytes, or nil.
	Size *int64 `json:"size,omitempty"`
}

// GetName returns the name of the resource.
func (r Resource) GetName() string { return r.Name }

// ResourceOption changes the definition of a resource.
type ResourceOption func(*Resource)

// NewResource returns the definition of a resource.
func NewResource(uri, name string, opts ...ResourceOption) Resource {
	r := Resource{URI: uri, Name: name}
	for _, opt := range opts {
		opt(&r)
	}
	return r
}

// WithResourceDescription sets the description of a resource.
func WithResourceDescription(description string) ResourceOption {
	return func(r *Resource) { r.Description = description }
}

// WithResourceTitle sets the title of a resource.
func WithResourceTitle(title string) ResourceOption { return func(r *Resource) { r.Title = title } }

// WithResourceIcons sets the icons of a resource.
func WithResourceIcons(icons ...Icon) ResourceOption { return func(r *Resource) { r.Icons = icons } }

// WithResourceSize sets the number of bytes of a resource. A negative size is ignored.
func WithResourceSize(size int64) ResourceOption {
	return func(r *Resource) {
		if size >= 0 {
			r.Size = &size
		}
	}
}

// WithMIMEType sets the MIME type of a resource.
func WithMIMEType(mimeType string) ResourceOption {
	return func(r *Resource) { r.MIMEType = mimeType }
}

// WithAnnotations sets the annotations of a resource.
func WithAnnotations(audience []Role, priority float64, lastModified string) ResourceOption {
	return func(r *Resource) { r.Annotations = &Annotations{audience, &priority, lastModified} }
}

// WithLastModified sets the time of the last change of a resource, in the form of RFC 3339.
func WithLastModified(timestamp string) ResourceOption {
	return func(r *Resource) {
		if r.Annotations == nil {
			r.Annotations = new(Annotations)
		}
		r.Annotations.LastModified = timestamp
	}
}

// WithTemplateAnnotations sets the annotations of a resource template.
func WithTemplateAnnotations(audience []Role, priority float64, lastModified string) ResourceTemplateOption {
	return func(t *ResourceTemplate) { t.Annotations = &Annotations{audience, &priority, lastModified} }
}

// WithTemplateIcons sets the icons of a resource template.
func WithTemplateIcons(icons ...Icon) ResourceTemplateOption {
	return func(t *ResourceTemplate) { t.Icons = icons }
}

// URITemplate is a URI template of RFC 6570.
type URITemplate struct{ *uritemplate.Template }

// MarshalJSON implements [json.Marshaler].
func (t *URITemplate) MarshalJSON() ([]byte, error) { return json.Marshal(t.Raw()) }

// UnmarshalJSON implements [json.Unmarshaler].
func (t *URITemplate) UnmarshalJSON(data []byte) error {
	var raw string
	err := json.Unmarshal(data, &raw)
	if err == nil {
		t.Template, err = uritemplate.New(raw)
	}
	return err
}

// ResourceTemplate is the definition of resources whose URIs match a template.
type ResourceTemplate struct {
	Annotated
	Meta        *Meta        `json:"_meta,omitempty"`
	URITemplate *URITemplate `json:"uriTemplate"`
	Name        string       `json:"name"`
	Title       string       `json:"title,omitempty"`
	Description string       `json:"description,omitempty"`
	MIMEType    string       `json:"mimeType,omitempty"`
	Icons       []Icon       `json:"icons,omitempty"`
}

// GetName returns the name of the template.
func (t ResourceTemplate) GetName() string { return t.Name }

// ResourceTemplateOption changes the definition of a resource template.
type ResourceTemplateOption func(*ResourceTemplate)

// NewResourceTemplate returns the definition of a resource template. It panics if the template is
// invalid.
func NewResourceTemplate(uriTemplate, name string, opts ...ResourceTemplateOption) ResourceTemplate {
	t := ResourceTemplate{URITemplate: &URITemplate{uritemplate.MustNew(uriTemplate)}, Name: name}
	for _, opt := range opts {
		opt(&t)
	}
	return t
}

// WithTemplateDescription sets the description of a resource template.
func WithTemplateDescription(description string) ResourceTemplateOption {
	return func(t *ResourceTemplate) { t.Description = description }
}

// WithTemplateTitle sets the title of a resource template.
func WithTemplateTitle(title string) ResourceTemplateOption {
	return func(t *ResourceTemplate) { t.Title = title }
}

// WithTemplateMIMEType sets the MIME type of the resources of a template.
func WithTemplateMIMEType(mimeType string) ResourceTemplateOption {
	return func(t *ResourceTemplate) { t.MIMEType = mimeType }
}

// ReadResourceRequest reads a resource.
type ReadResourceRequest struct {
	Request
	// Header contains the HTTP headers of the request, or is nil.
	Header http.Header        `json:"-"`
	Params ReadResourceParams `json:"params"`
}

// ReadResourceParams are the params of a [ReadResourceRequest].
type ReadResourceParams struct {
	URI string `json:"uri"`
	// Arguments are the values of the variables of a template, each a []string. The server sets
	// them.
	Arguments map[string]any `json:"arguments,omitempty"`
	Meta      *Meta          `json:"_meta,omitempty"`
}

// ReadResourceResult contains the contents of a resource.
type ReadResourceResult struct {
	Result
	Contents []ResourceContents `json:"contents"`
}

// UnmarshalJSON implements [json.Unmarshaler].
func (r *ReadResourceResult) UnmarshalJSON(data []byte) error {
	type plain ReadResourceResult
	v := struct {
		*plain
		Contents []json.RawMessage `json:"contents"`
	}{plain: (*plain)(r)}
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	r.Contents = make([]ResourceContents, len(v.Contents))
	for i, c := range v.Contents {
		var err error
		if r.Contents[i], err = unmarshalResourceContents(c); err != nil {
			return err
		}
	}
	return nil
}
