package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"
)

// listenLoopback listens at an address that only this machine reaches. A name
// must stand for nothing else, and the address that was looked at is the one
// that is used.
func listenLoopback(ctx context.Context, address string) (net.Listener, error) {
	at, err := loopback(ctx, address)
	if err != nil {
		return nil, err
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", at)
	if err != nil {
		return nil, &problem{
			Code: "address_unavailable", Message: fmt.Sprintf("the server cannot listen at %s: %v", address, err),
			Hint: "end what listens there, or give another port with --listen 127.0.0.1:PORT; port 0 takes any that is free", Status: statusUnavailable,
		}
	}
	return listener, nil
}

// loopback returns the address with the host as a number, or says why it is
// refused.
func loopback(ctx context.Context, address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", refusedAddress(address, fmt.Sprintf("it is no HOST:PORT: %v", err))
	}
	if host == "" {
		return "", refusedAddress(address, "without a host it is every address of this machine")
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return "", refusedAddress(address, err.Error())
	}
	var first netip.Addr
	for _, ip := range ips {
		ip = ip.Unmap()
		if !ip.IsLoopback() {
			return "", refusedAddress(address, fmt.Sprintf("%s is not a loopback address", ip))
		}
		if !first.IsValid() || ip.Is4() && !first.Is4() {
			first = ip
		}
	}
	if !first.IsValid() {
		return "", refusedAddress(address, "the name stands for no address")
	}
	return net.JoinHostPort(first.String(), port), nil
}

func refusedAddress(address, why string) error {
	return &problem{
		Code: "not_loopback", Message: fmt.Sprintf("the server does not listen at %q: %s; it has no logins yet, so only this machine may reach it", address, why),
		Hint: "give a loopback address such as 127.0.0.1:7717; from elsewhere use a tunnel: ssh -L 7717:127.0.0.1:7717 HOST", Status: statusUsage,
	}
}
