package connection

import (
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
)

func TestEveryCapabilityOfTheMethodTableIsKnown(t *testing.T) {
	all := []string{
		"completions", "logging", "prompts", "prompts.listChanged", "resources", "resources.listChanged",
		"resources.subscribe", "tools", "tools.listChanged", "tasks", "tasks.cancel", "tasks.list",
	}
	for _, m := range mcp.Methods {
		if m.Capability == "" {
			continue
		}
		server := slices.Contains(all, m.Capability)
		require.True(t, server || clientNeeds(m.Capability) != nil, "%s: capability.go knows no capability %s", m.Name, m.Capability)
		if server {
			require.False(t, serverDeclares(&mcp.ServerCapabilities{}, m.Capability), m.Capability)
		}
		if m.FromServer != 0 && !m.Notification {
			require.NotNil(t, clientNeeds(m.Capability), m.Capability)
		}
	}
}

func TestEveryCapabilityOfAClientIsCompared(t *testing.T) {
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
		c.in(less).SetZero()
		require.True(t, declares(everything(), want), c.name)
		require.False(t, declares(less, want), "a client without %s counts as one with it: compare it in capability.go", c.name)
	}
}

// A capability is a field of a client's capabilities, or one within such a field.
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

// in is the field. What leads there is declared.
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

// fill declares all that a value can.
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

func TestEveryMessageOfTheProtocolCanBeJudged(t *testing.T) {
	for _, m := range mcp.Methods {
		_, server := serverSurface.Route(m.Name)
		_, client := clientSurface.Route(m.Name)
		require.Equal(t, m.FromClient != 0, server, m.Name)
		require.Equal(t, m.FromServer != 0 || m.Embedded != 0, client, m.Name)
	}
}

func TestLevelsAreInOrderOfSeverity(t *testing.T) {
	require.Equal(t, []mcp.LoggingLevel{
		"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency",
	}, levels)
}
