// One stream over quic-go. Called as the programs in ../peers are: send|receive ADDRESS FOLDER [seconds=S] [offload=no].
// The certificate is made by the receiver and left in the folder. quic-go itself reads QUIC_GO_DISABLE_GSO,
// and QLOGDIR, the folder for the logs of both ends.
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlog"
)

const (
	window = 16 << 20
	piece  = 256 << 10
)

func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func config() *quic.Config {
	return &quic.Config{
		InitialStreamReceiveWindow:     window,
		MaxStreamReceiveWindow:         window,
		InitialConnectionReceiveWindow: window,
		MaxConnectionReceiveWindow:     window,
		Tracer:                         qlog.DefaultConnectionTracer,
	}
}

// socket has buffers as large as Thalweg asks for.
func socket(address string) *quic.Transport {
	conn := must(net.ListenUDP("udp", must(net.ResolveUDPAddr("udp", address))))
	check(conn.SetReadBuffer(4 << 20))
	check(conn.SetWriteBuffer(4 << 20))
	return &quic.Transport{Conn: conn}
}

func certify(path string) tls.Certificate {
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "localhost"},
		DNSNames:     []string{"localhost"},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
		IsCA:         true, BasicConstraintsValid: true,
	}
	der := must(x509.CreateCertificate(rand.Reader, &template, &template, key.Public(), key))
	check(os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func receive(address, certificate string) {
	tlsConfig := &tls.Config{Certificates: []tls.Certificate{certify(certificate)}, NextProtos: []string{"bench"}}
	listener := must(socket(address).Listen(tlsConfig, config()))
	fmt.Fprintln(os.Stderr, "ready")
	ctx := context.Background()
	connection := must(listener.Accept(ctx))
	stream := must(connection.AcceptUniStream(ctx))
	buffer := make([]byte, piece)
	var bytes int64
	var first, last time.Time
	for {
		count, err := stream.Read(buffer)
		last = time.Now()
		if first.IsZero() {
			first = last
		}
		bytes += int64(count)
		if err == io.EOF {
			break
		}
		check(err)
	}
	fmt.Printf("{\"bytes\": %d, \"seconds\": %.6f}\n", bytes, last.Sub(first).Seconds())
	check(connection.CloseWithError(0, "done"))
	time.Sleep(100 * time.Millisecond)
}

func send(address, certificate string, span time.Duration) {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(must(os.ReadFile(certificate)))
	tlsConfig := &tls.Config{RootCAs: roots, ServerName: "localhost", NextProtos: []string{"bench"}}
	ctx := context.Background()
	remote := must(net.ResolveUDPAddr("udp", address))
	connection := must(socket("127.0.0.1:0").Dial(ctx, remote, tlsConfig, config()))
	stream := must(connection.OpenUniStream())
	data := make([]byte, piece)
	for start := time.Now(); time.Since(start) < span; {
		must(stream.Write(data))
	}
	check(stream.Close())
	<-connection.Context().Done()
}

func main() {
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "send|receive ADDRESS FOLDER [seconds=S]")
		os.Exit(2)
	}
	span := 5.0
	for _, option := range os.Args[4:] {
		if text, is := strings.CutPrefix(option, "seconds="); is {
			span = must(strconv.ParseFloat(text, 64))
		}
	}
	certificate := filepath.Join(os.Args[3], "certificate.pem")
	if os.Args[1] == "send" {
		send(os.Args[2], certificate, time.Duration(span*float64(time.Second)))
	} else {
		receive(os.Args[2], certificate)
	}
}
