package streamable_test

import (
	"testing"

	"github.com/mcpwright/mcp/internal/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }
