//go:build nocloud

package store_test

// urlsAt returns the URLs of an object of a server, by scheme.
func urlsAt(server, name string) map[string]string {
	return map[string]string{"http": server + "/" + name}
}
