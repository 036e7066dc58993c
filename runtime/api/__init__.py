"""The public interface of Runelift."""
