//go:build nocloud

package store

// newSender returns nil: only S3 has a sender.
func newSender(*Bucket) sender { return nil }
