package sharedtasks_test

import (
	"testing"

	"github.com/mcpwright/mcp/internal/sharedtasks"
	"github.com/mcpwright/mcp/runtime/engine"
)

func TestTasksInMemory(t *testing.T) { sharedtasks.Run(t, new(engine.Memory)) }
