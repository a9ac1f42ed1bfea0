package capabilities

import (
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
)

func TestCapabilitiesOfTheMethodTable(t *testing.T) {
	server := []string{
		"completions", "logging", "prompts", "prompts.listChanged", "resources", "resources.listChanged",
		"resources.subscribe", "tools", "tools.listChanged", "tasks", "tasks.cancel", "tasks.list",
	}
	for _, m := range mcp.Methods {
		if m.Capability == "" {
			continue
		}
		ofServer := slices.Contains(server, m.Capability)
		require.True(t, ofServer || OfClient(m.Capability) != nil, "%s: unknown capability %q", m.Name, m.Capability)
		if ofServer {
			require.False(t, ServerHas(&mcp.ServerCapabilities{}, m.Capability), m.Capability)
		}
		if m.FromServer != 0 && !m.Notification {
			require.NotNil(t, OfClient(m.Capability), m.Capability)
		}
	}
}

func TestClientHasComparesEveryField(t *testing.T) {
	everything := func() *mcp.ClientCapabilities {
		caps := new(mcp.ClientCapabilities)
		fill(reflect.ValueOf(caps).Elem())
		return caps
	}
	capabilities := capabilitiesOf(reflect.TypeFor[mcp.ClientCapabilities](), capability{})
	require.Greater(t, len(capabilities), 15)
	for _, c := range capabilities {
		want, less := new(mcp.ClientCapabilities), everything()
		fill(c.in(want))
		if c.in(less).SetZero(); c.name == ".Extensions" {
			less.Experimental = nil // where some clients declare their extensions
		}
		require.True(t, ClientHas(everything(), want), c.name)
		require.False(t, ClientHas(less, want), "ClientHas does not compare %s", c.name)
	}
}

// A capability is a field of the client capabilities, at any depth.
type capability struct {
	name string
	path []int
}

func capabilitiesOf(typ reflect.Type, owner capability) (list []capability) {
	for i := range typ.NumField() {
		f := typ.Field(i)
		if f.Name == "Extra" {
			continue
		}
		c := capability{owner.name + "." + f.Name, append(slices.Clone(owner.path), i)}
		list = append(list, c)
		if f.Type.Kind() == reflect.Pointer {
			list = append(list, capabilitiesOf(f.Type.Elem(), c)...)
		}
	}
	return list
}

// in returns the field. It allocates the pointers on its path.
func (c capability) in(caps *mcp.ClientCapabilities) reflect.Value {
	v := reflect.ValueOf(caps)
	for _, i := range c.path {
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		v = v.Elem().Field(i)
	}
	return v
}

// fill sets all fields of a value.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		if elem := v.Type().Elem(); elem.Kind() == reflect.Map {
			v.SetMapIndex(reflect.ValueOf("x"), reflect.MakeMap(elem))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	}
}

func TestCheckExtensions(t *testing.T) {
	for name, good := range map[string]bool{
		"com.example/x": true, "a/b.c_d-e": true, "com.a1-b/": true, "x.y2/9": true,
		"": false, "x": false, "/x": false, "com.example": false, "com..example/x": false, "1a/x": false,
		"a-/x": false, "a/x.": false, "a/-x": false, "a/x/y": false, "a b/x": false, "a/x\n": false,
	} {
		err := CheckExtensions(map[string]bool{name: true})
		require.Equal(t, good, err == nil, "%q: %v", name, err)
	}
}
