"""SHIM"""
