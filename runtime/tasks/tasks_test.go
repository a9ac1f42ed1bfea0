package tasks_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/tasks"
	"github.com/mcpwright/mcp/runtime/wire"
)

func TestInvalidResponsesAreNil(t *testing.T) {
	var req tasks.UpdateRequest
	params := `{"taskId":"1","inputResponses":{"a":{"action":"accept"},"b":{"x":1},"c":7}}`
	require.NoError(t, wire.DecodeParams([]byte(params), &wire.Frame{Revision: mcp.Revision20260728}, &req))
	require.Equal(t, "1", req.TaskID)
	require.IsType(t, new(mcp.ElicitResult), req.InputResponses["a"])
	require.Len(t, req.InputResponses, 3)
	require.Nil(t, req.InputResponses["b"])
	require.Nil(t, req.InputResponses["c"])
}

func TestTaskConversions(t *testing.T) {
	want := &tasks.Task{ID: "1", Status: mcp.TaskStatusWorking, TTL: -1}
	got, err := tasks.FromResult(want.GetResult())
	require.NoError(t, err)
	require.Equal(t, want, got)
	got, err = tasks.FromCreateResult(want.CreateResult())
	require.NoError(t, err)
	require.Equal(t, want, got)
	wrong := want.GetResult()
	wrong.LastUpdatedAt = "yesterday"
	_, err = tasks.FromResult(wrong)
	require.ErrorContains(t, err, `times of task "1"`)
}
