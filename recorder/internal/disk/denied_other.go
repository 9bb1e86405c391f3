//go:build !unix

package disk

// WhyDenied returns an empty text: only on Unix a directory has the owner and mode that explain a refusal.
func WhyDenied(string) string { return "" }
