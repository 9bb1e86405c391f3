package store

import (
	"crypto/x509"
	"sync"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// embedRoots makes Mozilla's CA certificates, which are part of the program, those of a system
// that has none, such as an image FROM scratch (ADR 0062). Parsing the certificates takes milliseconds,
// so only programs that open a store do it: the package fallback would do it at each start.
var embedRoots = sync.OnceFunc(func() {
	roots := x509.NewCertPool()
	for r := range bundle.Roots() {
		cert, err := x509.ParseCertificate(r.Certificate)
		switch {
		case err != nil:
			panic("store: an embedded CA certificate is damaged: " + err.Error())
		case r.Constraint != nil:
			roots.AddCertWithConstraint(cert, r.Constraint)
		default:
			roots.AddCert(cert)
		}
	}
	x509.SetFallbackRoots(roots)
})
