package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/tasks"
)

type scene struct {
	Frames int `json:"frames" minimum:"1"`
}

func render(ctx context.Context, s *mcp.ServerSession, in scene) (string, error) {
	for frame := range in.Frames {
		select {
		case <-time.After(100 * time.Millisecond): // the work
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
		s.ReportProgress(ctx, peer.Progress{Progress: float64(frame + 1), Message: fmt.Sprint("frame ", frame+1)})
	}
	return fmt.Sprint(in.Frames, " frames"), nil
}

func main() {
	server := mcpserver.New(mcp.Implementation{Name: "studio", Version: "1.0.0"}, &mcpserver.Options{
		Tasks: &tasks.Options{StartAfter: 2 * time.Second},
	})
	mcpserver.AddTool(server, &mcp.Tool{
		Name:        "render",
		Description: "Renders the frames of a scene.",
		Execution:   &mcp.ToolExecution{TaskSupport: mcp.TaskSupportOptional},
	}, render)
	if err := server.ServeStdio(context.Background()); err != nil {
		log.Fatal(err)
	}
}
