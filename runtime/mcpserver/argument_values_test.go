package mcpserver_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
)

func TestArguments(t *testing.T) {
	args, err := mcpserver.ReadArguments(&mcp.CallToolRequest{Arguments: json.RawMessage(
		`{"s":"a","i":2,"whole":2.0,"large":1e3,"half":0.5,"b":false,"l":["x","y"],"none":null,"o":{"n":1}}`)})
	require.NoError(t, err)
	s, err := args.RequireString("s")
	require.NoError(t, err)
	require.Equal(t, "a", s)
	for name, want := range map[string]int{"i": 2, "whole": 2, "large": 1000} {
		i, err := args.RequireInt(name)
		require.NoError(t, err, name)
		require.Equal(t, want, i)
	}
	for name, want := range map[string]float64{"i": 2, "whole": 2, "half": 0.5} {
		f, err := args.RequireFloat(name)
		require.NoError(t, err, name)
		require.Equal(t, want, f)
	}
	b, err := args.Bool("b", true)
	require.NoError(t, err)
	require.False(t, b, "an explicit false is no default")
	l, err := args.Strings("l")
	require.NoError(t, err)
	require.Equal(t, []string{"x", "y"}, l)
	var o struct{ N int }
	require.NoError(t, args.Decode("o", &o))
	require.NoError(t, args.Decode("absent", &o))
	require.Equal(t, 1, o.N)

	for _, name := range []string{"absent", "none"} {
		require.False(t, args.Has(name))
		s, err := args.String(name, "default")
		require.NoError(t, err)
		require.Equal(t, "default", s)
		i, err := args.Int(name, 7)
		require.NoError(t, err)
		require.Equal(t, 7, i)
		f, err := args.Float(name, 0.25)
		require.NoError(t, err)
		require.Equal(t, 0.25, f)
		l, err := args.Strings(name, "x")
		require.NoError(t, err)
		require.Equal(t, []string{"x"}, l)
	}
}

func TestErrorsOfArgumentsAreForModels(t *testing.T) {
	args := mcpserver.Arguments{"s": json.RawMessage(`"two"`), "half": json.RawMessage(`1.5`), "huge": json.RawMessage(`1e300`), "l": json.RawMessage(`[1]`)}
	for want, read := range map[string]func() error{
		`Argument "city" is required. It must be a string.`:   func() error { _, err := args.RequireString("city"); return err },
		`Argument "city" is required. It must be an integer.`: func() error { _, err := args.RequireInt("city"); return err },
		`Argument "s" must be an integer, not "two".`:         func() error { _, err := args.Int("s", 1); return err },
		`Argument "half" must be an integer, not 1.5.`:        func() error { _, err := args.RequireInt("half"); return err },
		`Argument "huge" must be an integer, not 1e300.`:      func() error { _, err := args.RequireInt("huge"); return err },
		`Argument "s" must be true or false, not "two".`:      func() error { _, err := args.RequireBool("s"); return err },
		`Argument "l" must be a list of strings, not [1].`:    func() error { _, err := args.RequireStrings("l"); return err },
		`Argument "s" must be a number, not "two".`:           func() error { _, err := args.RequireFloat("s"); return err },
		`Argument "s" is invalid: json: cannot unmarshal string into Go value of type int`: func() error {
			return args.Decode("s", new(int))
		},
		`The arguments must be a JSON object.`: func() error {
			_, err := mcpserver.ReadArguments(&mcp.CallToolRequest{Arguments: json.RawMessage(`[1]`)})
			return err
		},
	} {
		err := read()
		require.EqualError(t, err, want)
		var forModel interface{ ModelText() string }
		require.ErrorAs(t, err, &forModel)
		require.Equal(t, want, forModel.ModelText())
	}
	none, err := mcpserver.ReadArguments(new(mcp.CallToolRequest))
	require.NoError(t, err)
	require.False(t, none.Has("x"))
}
