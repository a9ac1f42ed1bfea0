package mcp

import (
	"encoding/json"
	"maps"
)

// ProgressToken identifies a request in progress notifications. It is a string or a number.
type ProgressToken any

// Meta is the metadata of a message, the member "_meta".
type Meta struct {
	// ProgressToken is set if the sender of a request accepts progress notifications.
	ProgressToken ProgressToken
	// AdditionalFields are the other members.
	AdditionalFields map[string]any
}

// NewMetaFromMap returns metadata with the members of m.
func NewMetaFromMap(m map[string]any) *Meta {
	meta := &Meta{AdditionalFields: maps.Clone(m)}
	if token, ok := m["progressToken"]; ok {
		meta.ProgressToken = token
		delete(meta.AdditionalFields, "progressToken")
	}
	return meta
}

// MarshalJSON implements [json.Marshaler].
func (m *Meta) MarshalJSON() ([]byte, error) {
	members := make(map[string]any, len(m.AdditionalFields)+1)
	maps.Copy(members, m.AdditionalFields)
	if m.ProgressToken != nil {
		members["progressToken"] = m.ProgressToken
	}
	return json.Marshal(members)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (m *Meta) UnmarshalJSON(data []byte) error {
	var members map[string]any
	if err := json.Unmarshal(data, &members); err != nil {
		return err
	}
	*m = *NewMetaFromMap(members)
	return nil
}

// Icon is an image for user interfaces.
type Icon struct {
	// Src is the URL of the image, or a data URL.
	Src      string `json:"src"`
	MIMEType string `json:"mimeType,omitempty"`
	// Sizes are sizes such as "48x48", or "any".
	Sizes []string  `json:"sizes,omitempty"`
	Theme IconTheme `json:"theme,omitempty"`
}

// IconTheme is the background that an icon is made for.
type IconTheme string

// The themes of icons.
const (
	IconThemeLight IconTheme = "light"
	IconThemeDark  IconTheme = "dark"
)

// Named is implemented by the items of lists.
type Named interface {
	// GetName returns the name of the item.
	GetName() string
}

// Cursor is the position of a page in a list.
type Cursor string

// Implementation describes a client or a server.
type Implementation struct {
	Name        string `json:"name"`
	Version     string `json:"version"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	WebsiteURL  string `json:"websiteUrl,omitempty"`
	Icons       []Icon `json:"icons,omitempty"`
}

// ToBoolPtr returns a pointer to b.
func ToBoolPtr(b bool) *bool { return &b }

// ToInt64Ptr returns a pointer to i.
func ToInt64Ptr(i int64) *int64 { return &i }
