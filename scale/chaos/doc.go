// Package chaos tests package scale with processes that fail.
//
// The test starts replicas and an engine as processes, and clients of package mcpclient in all
// revisions. A balancer sends each request to the next replica. Meanwhile processes are killed,
// stopped for longer than the lease, and shut down, and links between them are cut and slow. The
// seed of a run determines its faults.
//
// Clients and replicas record what they observe. Afterwards, [check] returns the promises that the
// history breaks.
package chaos
