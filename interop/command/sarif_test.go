package command

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/interop/internal/npm"
)

// TestSARIF validates a report with the official schema of SARIF 2.1.0, which a package of npm contains.
func TestSARIF(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(npm.Install(t, "sarif"), "node_modules", "@microsoft", "jest-sarif", "lib", "schemas", "sarif-2.1.0-rtm.5.json"))
	require.NoError(t, err)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	require.NoError(t, compiler.AddResource("sarif.json", document))
	schema, err := compiler.Compile("sarif.json")
	require.NoError(t, err)

	args := append([]string{"test", "-report", "sarif", "-revision", "2025-03-26", "-only", quickCases, "--"}, everything(t)...)
	cmd := exec.CommandContext(t.Context(), build(t), args...)
	out, _ := cmd.Output()
	require.Equal(t, 1, cmd.ProcessState.ExitCode(), "%s", out)
	report, err := jsonschema.UnmarshalJSON(bytes.NewReader(out))
	require.NoError(t, err)
	require.NoError(t, schema.Validate(report))

	// The schema finds an invalid report.
	var invalid map[string]any
	require.NoError(t, json.Unmarshal(out, &invalid))
	run := invalid["runs"].([]any)[0].(map[string]any)
	results := run["results"].([]any)
	require.NotEmpty(t, results)
	results[0].(map[string]any)["level"] = "bad"
	require.Error(t, schema.Validate(invalid))
}
