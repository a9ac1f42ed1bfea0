package main

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
)

func TestTwoQuestionsInEveryRevision(t *testing.T) {
	for _, r := range mcp.Revisions {
		if r.Revision.Index() < mcp.Revision20250618.Index() {
			continue
		}
		t.Run(r.Revision.String(), func(t *testing.T) {
			var asked []string
			agree, closed := true, false
			client, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(newServer()), &mcpclient.Options{
				Revision: r.Revision,
				OnElicit: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					asked = append(asked, req.Params.(*mcp.ElicitRequestFormParams).Message)
					if closed {
						return &mcp.ElicitResult{Action: mcp.ElicitActionCancel}, nil
					}
					if len(asked)%2 == 1 {
						return &mcp.ElicitResult{Action: mcp.ElicitActionAccept, Content: map[string]any{"where": "balcony"}}, nil
					}
					return &mcp.ElicitResult{Action: mcp.ElicitActionAccept, Content: map[string]any{"agree": agree}}, nil
				},
			})
			require.NoError(t, err)
			defer client.Close()
			text, err := mcpclient.CallTool[string](t.Context(), client, "book", order{"Winterreise"})
			require.NoError(t, err)
			require.Equal(t, "Booked for Winterreise: 2 in the balcony.", text)
			require.Equal(t, []string{"Tickets for Winterreise", "2 tickets in the balcony cost 80 francs."}, asked)
			agree = false
			text, err = mcpclient.CallTool[string](t.Context(), client, "book", order{"Winterreise"})
			require.NoError(t, err)
			require.Equal(t, notBooked, text)
			closed = true
			text, err = mcpclient.CallTool[string](t.Context(), client, "book", order{"Winterreise"})
			require.NoError(t, err)
			require.Equal(t, notBooked, text)
			require.Len(t, asked, 5)
		})
	}
}
